-- feature: autocommit
-- about: Statements that are transactions of their own, of one and of many rows
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1);
INSERT INTO t VALUES (2,2),(3,3),(4,4);
UPDATE t SET v=v*10;
UPDATE t SET v=v WHERE id=1;
DELETE FROM t WHERE id>2;
INSERT INTO t SELECT id+10, v FROM t;

-- feature: multi-statement
-- about: Transactions of several statements and tables, with rollbacks between
CREATE TABLE a (id INT PRIMARY KEY, v INT);
CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(20));
BEGIN;
INSERT INTO a VALUES (1,1),(2,2);
INSERT INTO b VALUES (1,'x');
UPDATE a SET v=v+1;
DELETE FROM a WHERE id=1;
INSERT INTO a VALUES (1,100);
COMMIT;
BEGIN;
INSERT INTO a VALUES (99,99);
ROLLBACK;
SET autocommit=0;
UPDATE b SET v='y';
UPDATE a SET v=0 WHERE id=2;
COMMIT;
UPDATE b SET v='lost';
ROLLBACK;
SET autocommit=1;
START TRANSACTION READ ONLY;
SELECT * FROM a;
COMMIT;
BEGIN;
COMMIT;

-- feature: savepoints
-- about: Savepoints, released and rolled back to
CREATE TABLE t (id INT PRIMARY KEY, v INT);
BEGIN;
INSERT INTO t VALUES (1,1);
SAVEPOINT a;
INSERT INTO t VALUES (2,2);
SAVEPOINT `b c`;
UPDATE t SET v=99;
ROLLBACK TO SAVEPOINT `b c`;
INSERT INTO t VALUES (3,3);
ROLLBACK TO a;
INSERT INTO t VALUES (4,4);
RELEASE SAVEPOINT a;
COMMIT;
BEGIN;
SAVEPOINT a;
INSERT INTO t VALUES (5,5);
ROLLBACK TO a;
COMMIT;

-- feature: failed-statements
-- about: Statements that fail in the middle, and transactions that go on
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (5,5);
BEGIN;
INSERT INTO t VALUES (1,1);
-- fails
INSERT INTO t VALUES (2,2),(5,0),(3,3);
INSERT INTO t VALUES (4,4);
COMMIT;
INSERT IGNORE INTO t VALUES (5,1),(6,6);
INSERT INTO t VALUES (5,7),(7,7) ON DUPLICATE KEY UPDATE v=VALUES(v);
REPLACE INTO t VALUES (5,8),(8,8);
-- fails
CREATE TABLE t (id INT);
-- fails
DROP TABLE nothere;
-- fails
ALTER TABLE t ADD UNIQUE (nocolumn);

-- feature: large
-- about: A transaction of thousands of rows and several megabytes
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), b BLOB);
INSERT INTO t (v,b) VALUES ('one',REPEAT('x',200)),('two',REPEAT('y',200)),('three',NULL),('four',REPEAT(0x00,300));
BEGIN;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
INSERT INTO t (v,b) SELECT v,b FROM t;
COMMIT;
UPDATE t SET v=CONCAT(v,id) WHERE id%3=0;
DELETE FROM t WHERE id%7=0;

-- feature: large-row
-- about: Rows of several megabytes
CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB);
INSERT INTO t VALUES (1,REPEAT('m',3000000)),(2,REPEAT(0x00FF,2000000));
UPDATE t SET b=CONCAT(b,'!') WHERE id=1;

-- feature: dml-forms
-- about: REPLACE, ON DUPLICATE KEY, changes of several tables, ORDER BY and LIMIT
CREATE TABLE a (id INT PRIMARY KEY, v INT, UNIQUE (v));
CREATE TABLE b (id INT PRIMARY KEY, w INT);
INSERT INTO a VALUES (1,10),(2,20),(3,30);
INSERT INTO b VALUES (1,1),(2,2),(3,3);
REPLACE INTO a VALUES (4,20);
INSERT INTO a VALUES (1,99) ON DUPLICATE KEY UPDATE v=v+1;
UPDATE a, b SET a.v=a.v+100, b.w=b.w+100 WHERE a.id=b.id;
DELETE a, b FROM a JOIN b ON a.id=b.id WHERE a.id=3;
DELETE FROM a ORDER BY v DESC LIMIT 1;
INSERT INTO b SELECT id+50, v FROM a ON DUPLICATE KEY UPDATE w=0;
-- if: mariadb
INSERT INTO a VALUES (70,70) RETURNING id;
-- if: mariadb
DELETE FROM a WHERE id=70 RETURNING v;

-- feature: temporary-tables
-- about: Temporary tables as sources of rows, made, filled and dropped
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO tmp VALUES (1,'x'),(2,'y');
INSERT INTO t SELECT * FROM tmp;
CREATE TEMPORARY TABLE t2 AS SELECT * FROM t;
UPDATE t JOIN t2 USING (id) SET t.v=CONCAT(t2.v,'!');
ALTER TABLE tmp ADD z INT;
DROP TEMPORARY TABLE tmp;
CREATE TEMPORARY TABLE t (other INT);
INSERT INTO t VALUES (5);
DROP TABLE t;
INSERT INTO t VALUES (3,'z');
DROP TABLE IF EXISTS t2, nothere;

-- feature: temporary-in-trans
-- about: Temporary tables made and dropped within transactions
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
BEGIN;
INSERT INTO t VALUES (1,'a');
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY);
INSERT INTO tmp VALUES (7);
INSERT INTO t SELECT id, 'tmp' FROM tmp;
DROP TEMPORARY TABLE tmp;
COMMIT;
INSERT INTO t VALUES (8,'end');

-- feature: temporary-rollback
-- about: A transaction with temporary tables that is rolled back
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO t VALUES (1,'a');
BEGIN;
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY);
INSERT INTO t VALUES (2,'lost');
INSERT INTO tmp VALUES (7);
ROLLBACK;
INSERT INTO t VALUES (3,'end');
BEGIN;
INSERT INTO t VALUES (4,'lost');
SAVEPOINT s;
DROP TEMPORARY TABLE tmp;
INSERT INTO t VALUES (5,'lost');
ROLLBACK TO s;
INSERT INTO t VALUES (6,'kept');
COMMIT;

-- feature: two-sessions
-- about: Transactions of two sessions that overlap
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1),(2,2),(3,3);
BEGIN;
UPDATE t SET v=10 WHERE id=1;
-- session: two
BEGIN;
UPDATE t SET v=20 WHERE id=2;
INSERT INTO t VALUES (4,4);
-- session: one
UPDATE t SET v=30 WHERE id=3;
-- session: two
COMMIT;
-- session: one
UPDATE t SET v=v+1 WHERE id=2;
COMMIT;

-- feature: implicit-commits
-- about: DDL in the middle of a transaction, which commits it
CREATE TABLE t (id INT PRIMARY KEY, v INT);
BEGIN;
INSERT INTO t VALUES (1,1);
CREATE TABLE u (id INT PRIMARY KEY);
INSERT INTO u VALUES (1);
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (2,2);
ALTER TABLE t ADD w INT;
INSERT INTO t VALUES (3,3,3);
ROLLBACK;
LOCK TABLES t WRITE;
INSERT INTO t VALUES (4,4,4);
UNLOCK TABLES;

-- feature: session-values
-- about: Values that depend on the session: time, user, random numbers, counters
CREATE TABLE t (id INT PRIMARY KEY, a DATETIME(6), b DOUBLE, c VARCHAR(100), d BIGINT, e CHAR(36));
SET timestamp=1700000000.25, @x='user variable';
INSERT INTO t VALUES (1,NOW(6),RAND(),@x,LAST_INSERT_ID(42),UUID());
SET insert_id=77;
INSERT INTO t VALUES (2,SYSDATE(6),RAND(5),CURRENT_USER(),CONNECTION_ID(),UUID());
SET timestamp=DEFAULT;
INSERT INTO t VALUES (3,CURRENT_TIMESTAMP,PI(),DATABASE(),ROW_COUNT(),LEFT(SHA2('x',256),36));

-- feature: engine-myisam
-- about: A table without transactions
-- refused: mysql engine
-- refused: mariadb engine
CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=MyISAM;
INSERT INTO t VALUES (1,1),(2,2);
UPDATE t SET v=3 WHERE id=1;

-- feature: statement-rows
-- about: Changes of rows that a source logs as statements
-- refused: any statement-format
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1);
SET binlog_format=STATEMENT;
INSERT INTO t VALUES (2,2);

-- feature: mixed-mode
-- about: binlog_format=MIXED with statements that the source logs as rows
CREATE TABLE t (id INT PRIMARY KEY, v CHAR(36));
SET binlog_format=MIXED;
INSERT INTO t VALUES (1,UUID());
CREATE TABLE u (id INT PRIMARY KEY);
SET binlog_format=ROW;
INSERT INTO u VALUES (1);
