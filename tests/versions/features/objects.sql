-- feature: views
-- about: Views, with algorithms, checks, rights and columns of their own
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1),(2,2);
CREATE VIEW w AS SELECT id, v*2 AS d FROM t;
CREATE OR REPLACE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW x (a,b) AS SELECT id, v FROM t WHERE v>0 WITH CASCADED CHECK OPTION;
INSERT INTO x VALUES (3,3);
ALTER VIEW w AS SELECT id, v*3 AS d FROM t;
CREATE VIEW y AS SELECT * FROM w;
DROP VIEW y;
UPDATE x SET b=9 WHERE a=1;

-- feature: view-renamed
-- about: A view that is renamed
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE VIEW x AS SELECT * FROM t;
RENAME TABLE x TO z;
INSERT INTO z VALUES (1,1);

-- feature: triggers
-- about: Triggers, whose changes are in the log's rows
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20), id INT);
CREATE TRIGGER ai AFTER INSERT ON t FOR EACH ROW INSERT INTO log (what,id) VALUES ('insert', NEW.id);
DELIMITER //
CREATE TRIGGER bu BEFORE UPDATE ON t FOR EACH ROW BEGIN
  SET NEW.v = NEW.v + 100;
  INSERT INTO log (what,id) VALUES ('update', OLD.id);
END//
DELIMITER ;
CREATE TRIGGER ad AFTER DELETE ON t FOR EACH ROW INSERT INTO log (what,id) VALUES ('delete', OLD.id);
INSERT INTO t VALUES (1,1),(2,2);
UPDATE t SET v=5 WHERE id=1;
DELETE FROM t WHERE id=2;
DROP TRIGGER ad;
DELETE FROM t WHERE id=1;
INSERT INTO t VALUES (3,3);

-- feature: routines
-- about: Procedures and functions that change rows
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40));
DELIMITER //
CREATE PROCEDURE fill(IN n INT)
BEGIN
  DECLARE i INT DEFAULT 0;
  WHILE i < n DO
    INSERT INTO t VALUES (i, CONCAT('v', i));
    SET i = i + 1;
  END WHILE;
END//
CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC NO SQL RETURN a * 2//
CREATE FUNCTION writes(a INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
BEGIN
  UPDATE t SET v = 'written' WHERE id = a;
  RETURN a;
END//
DELIMITER ;
CALL fill(5);
UPDATE t SET v=twice(id) WHERE id=1;
SELECT writes(2);
ALTER PROCEDURE fill COMMENT 'fills';
DROP FUNCTION twice;

-- feature: events
-- about: Scheduled events, enabled and disabled
CREATE TABLE t (id INT PRIMARY KEY);
CREATE EVENT e ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' DO INSERT INTO t VALUES (1);
CREATE EVENT d ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE COMMENT 'later' DO DELETE FROM t;
ALTER EVENT e ON SCHEDULE EVERY 2 YEAR STARTS '2036-01-01 00:00:00';
CREATE EVENT gone ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' DO SELECT 1;
DROP EVENT gone;
INSERT INTO t VALUES (7);

-- feature: users
-- about: Users, roles and privileges
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
CREATE USER '{user}a'@'%' IDENTIFIED BY 'secret';
CREATE USER '{user}b'@'localhost' IDENTIFIED BY 'p2' WITH MAX_QUERIES_PER_HOUR 10 ACCOUNT LOCK;
GRANT SELECT, INSERT (id,a) ON {db}.t TO '{user}a'@'%';
GRANT ALL ON {db}.* TO '{user}b'@'localhost' WITH GRANT OPTION;
REVOKE DELETE ON {db}.* FROM '{user}b'@'localhost';
CREATE ROLE {user}r;
GRANT UPDATE ON {db}.* TO {user}r;
GRANT {user}r TO '{user}a'@'%';
RENAME USER '{user}b'@'localhost' TO '{user}c'@'localhost';
ALTER USER '{user}a'@'%' IDENTIFIED BY 'other';
INSERT INTO t VALUES (1,1,1);
CREATE USER '{user}d'@'%';
DROP USER '{user}d'@'%';

-- feature: current-user
-- about: CURRENT_USER in the bodies of triggers, views and routines
CREATE TABLE t (id INT PRIMARY KEY, who VARCHAR(100));
CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.who=CURRENT_USER();
CREATE VIEW w AS SELECT id, CURRENT_USER() AS me FROM t;
CREATE FUNCTION f() RETURNS VARCHAR(100) DETERMINISTIC RETURN CURRENT_USER();
INSERT INTO t (id) VALUES (1);
DROP VIEW w;

-- feature: definers
-- about: Objects with definers that are other users
CREATE USER '{user}d'@'%' IDENTIFIED BY 'x';
GRANT ALL ON {db}.* TO '{user}d'@'%';
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE DEFINER='{user}d'@'%' TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.v=NEW.id*2;
CREATE DEFINER='{user}d'@'%' VIEW w AS SELECT * FROM t;
CREATE DEFINER='{user}d'@'%' PROCEDURE p() SQL SECURITY INVOKER INSERT INTO t VALUES (9,9);
INSERT INTO t VALUES (1,1);
CALL p();

-- feature: session-mode
-- about: Objects made under other settings of the session
SET sql_mode='PIPES_AS_CONCAT,ANSI_QUOTES,STRICT_ALL_TABLES';
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.v='a'||NEW.id;
CREATE FUNCTION f(a INT) RETURNS VARCHAR(20) DETERMINISTIC RETURN 'x'||"a";
CREATE VIEW w AS SELECT 'n'||id AS n FROM t;
SET sql_mode='', time_zone='-03:00', lc_time_names='de_DE', SQL_QUOTE_SHOW_CREATE=1;
CREATE EVENT e ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' DO SELECT 1;
INSERT INTO t (id) VALUES (1);

-- feature: oracle-mode
-- about: Statements under sql_mode=ORACLE
-- only: mariadb
-- refused: postgresql ddl-not-understood
SET sql_mode=ORACLE;
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR2(20), b NUMBER(10,2), d DATE, r RAW(8));
INSERT INTO t VALUES (1,'x',1.5,'2024-01-01 10:00:00',x'01');
DELIMITER //
CREATE PROCEDURE p(a IN INT) AS
BEGIN
  INSERT INTO t (id) VALUES (a);
END//
DELIMITER ;
CALL p(2);
