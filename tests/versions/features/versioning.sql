-- feature: versioned
-- about: System-versioned tables with their history
-- only: mariadb
-- refused: postgresql versioning
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO t VALUES (1,1),(2,2),(3,3);
UPDATE t SET v=10 WHERE id=1;
DELETE FROM t WHERE id=2;
UPDATE t SET v=11 WHERE id=1;
INSERT INTO t VALUES (2,22);
BEGIN;
UPDATE t SET v=33 WHERE id=3;
DELETE FROM t WHERE id=3;
COMMIT;

-- feature: versioned-no-key
-- about: System-versioned tables without a primary key
-- only: mariadb
-- refused: postgresql versioning
CREATE TABLE t (a INT, v INT) WITH SYSTEM VERSIONING;
INSERT INTO t VALUES (1,1),(1,1),(2,2);
UPDATE t SET v=10 WHERE a=1 LIMIT 1;
DELETE FROM t WHERE a=2;

-- feature: versioned-explicit
-- about: System versioning with columns of its own, and columns without it
-- only: mariadb
-- refused: postgresql ddl-not-understood
CREATE TABLE t (id INT PRIMARY KEY, v INT, n INT WITHOUT SYSTEM VERSIONING, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s,e)) WITH SYSTEM VERSIONING;
INSERT INTO t (id,v,n) VALUES (1,1,1),(2,2,2);
UPDATE t SET v=10 WHERE id=1;
UPDATE t SET n=20 WHERE id=2;
DELETE FROM t WHERE id=2;

-- feature: versioned-alter
-- about: System versioning added to and taken from tables, and their columns changed
-- only: mariadb
-- refused: postgresql versioning
SET system_versioning_alter_history=KEEP;
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1);
ALTER TABLE t ADD SYSTEM VERSIONING;
UPDATE t SET v=2 WHERE id=1;
ALTER TABLE t ADD COLUMN w INT DEFAULT 7;
INSERT INTO t VALUES (2,2,2);
UPDATE t SET w=3 WHERE id=1;
ALTER TABLE t DROP COLUMN v;
UPDATE t SET w=4 WHERE id=1;
CREATE TABLE u (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO u VALUES (1,1);
UPDATE u SET v=2;
ALTER TABLE u DROP SYSTEM VERSIONING;
INSERT INTO u VALUES (2,2);

-- feature: versioned-history
-- about: History that is deleted, and tables that are emptied
-- only: mariadb
-- refused: postgresql versioning
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO t VALUES (1,1),(2,2);
UPDATE t SET v=10;
UPDATE t SET v=20 WHERE id=1;
DELETE HISTORY FROM t BEFORE SYSTEM_TIME '2001-01-01 00:00:00';
DELETE HISTORY FROM t;
UPDATE t SET v=30 WHERE id=1;

-- feature: versioned-insert
-- about: History that a session writes itself
-- only: mariadb 10.11
-- refused: postgresql versioning
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
SET system_versioning_insert_history=ON;
SET time_zone='+00:00';
INSERT INTO t (id,v,row_start,row_end) VALUES (1,1,'2001-01-01 00:00:00','2002-01-01 00:00:00');
SET system_versioning_insert_history=OFF;
INSERT INTO t VALUES (1,2);

-- feature: versioned-partitions
-- about: History in partitions of its own
-- only: mariadb
-- refused: postgresql versioning
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION h HISTORY, PARTITION c CURRENT);
INSERT INTO t VALUES (1,1),(2,2);
UPDATE t SET v=10 WHERE id=1;
DELETE FROM t WHERE id=2;
ALTER TABLE t ADD PARTITION (PARTITION h2 HISTORY);
UPDATE t SET v=11 WHERE id=1;

-- feature: versioned-trx
-- about: Versions by transaction numbers
-- only: mariadb
-- refused: postgresql ddl-not-understood
-- refused: mariadb statement-format
CREATE TABLE t (id INT PRIMARY KEY, v INT, s BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, e BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s,e)) WITH SYSTEM VERSIONING;
INSERT INTO t (id,v) VALUES (1,1);
UPDATE t SET v=2;

-- feature: versioned-created
-- about: System-versioned tables that are made like others and renamed
-- only: mariadb
-- refused: postgresql versioning
CREATE TABLE a (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO a VALUES (1,1);
UPDATE a SET v=2;
CREATE TABLE b LIKE a;
INSERT INTO b VALUES (5,5);
UPDATE b SET v=6;
RENAME TABLE a TO d;
DELETE FROM d WHERE id=1;

-- feature: versioned-copied
-- about: System-versioned tables that CREATE TABLE ... SELECT makes and fills
-- only: mariadb
-- refused: postgresql versioning
-- refused: mariadb from mariadb <10.11 versioned-copy
CREATE TABLE a (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO a VALUES (1,1),(2,2);
UPDATE a SET v=2;
CREATE TABLE c WITH SYSTEM VERSIONING AS SELECT * FROM a;
DELETE FROM c WHERE id=1;
CREATE TABLE d (id INT PRIMARY KEY, w INT) WITH SYSTEM VERSIONING AS SELECT id, v FROM a;
CREATE OR REPLACE TABLE c WITH SYSTEM VERSIONING AS SELECT * FROM d;
UPDATE c SET v=9 WHERE id=2;

-- feature: versioned-copied-named
-- about: Such tables whose columns for the times of a row are named
-- only: mariadb
-- refused: postgresql ddl-not-understood
CREATE TABLE a (id INT PRIMARY KEY, v INT);
INSERT INTO a VALUES (1,1),(2,2);
CREATE TABLE c (s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s,e)) WITH SYSTEM VERSIONING AS SELECT id, v FROM a;
UPDATE c SET v=5 WHERE id=1;
DELETE FROM c WHERE id=2;

-- feature: periods
-- about: Application-time periods, and changes of a portion
-- only: mariadb
-- refused: postgresql period
CREATE TABLE t (id INT, v INT, s DATE, e DATE, PERIOD FOR p (s,e));
INSERT INTO t VALUES (1,1,'2000-01-01','2020-01-01'),(2,2,'2000-01-01','2010-01-01');
DELETE FROM t FOR PORTION OF p FROM '2005-01-01' TO '2006-01-01' WHERE id=1;
UPDATE t FOR PORTION OF p FROM '2001-01-01' TO '2002-01-01' SET v=20 WHERE id=2;

-- feature: period-keys
-- about: Keys without overlaps in a period
-- only: mariadb 10.5
-- refused: postgresql period
CREATE TABLE t (id INT, v INT, s DATETIME, e DATETIME, PERIOD FOR p (s,e), PRIMARY KEY (id, p WITHOUT OVERLAPS));
INSERT INTO t VALUES (1,1,'2000-01-01','2005-01-01'),(1,2,'2005-01-01','2010-01-01'),(2,3,'2000-01-01','2010-01-01');
UPDATE t FOR PORTION OF p FROM '2003-01-01' TO '2004-01-01' SET v=9 WHERE id=2;
DELETE FROM t WHERE v=2;
INSERT INTO t VALUES (1,5,'2006-01-01','2007-01-01');
DELETE FROM t WHERE v=5;
INSERT INTO t VALUES (1,6,'2006-06-01','2008-06-01');
DELETE FROM t WHERE v=6;
INSERT INTO t VALUES (1,7,'2005-07-01','2007-07-01');
DELETE FROM t WHERE v=7;
INSERT INTO t VALUES (1,8,'2006-08-01','2008-08-01');
DELETE FROM t WHERE v=8;
INSERT INTO t VALUES (1,9,'2005-09-01','2007-09-01');
DELETE FROM t WHERE v=9;
INSERT INTO t VALUES (1,10,'2006-01-01','2008-01-01');
DELETE FROM t WHERE v=10;
INSERT INTO t VALUES (1,11,'2005-02-01','2007-02-01');
DELETE FROM t WHERE v=11;
INSERT INTO t VALUES (1,12,'2006-03-01','2008-03-01');
DELETE FROM t WHERE v=12;
INSERT INTO t VALUES (1,13,'2005-04-01','2007-04-01');
DELETE FROM t WHERE v=13;
INSERT INTO t VALUES (1,14,'2006-05-01','2008-05-01');
DELETE FROM t WHERE v=14;
INSERT INTO t VALUES (1,15,'2005-06-01','2007-06-01');
DELETE FROM t WHERE v=15;
INSERT INTO t VALUES (1,16,'2006-07-01','2008-07-01');
DELETE FROM t WHERE v=16;
INSERT INTO t VALUES (1,17,'2005-08-01','2007-08-01');

-- feature: bitemporal
-- about: A table with both kinds of periods
-- only: mariadb
-- refused: postgresql period
CREATE TABLE t (id INT PRIMARY KEY, v INT, s DATE, e DATE, PERIOD FOR p (s,e)) WITH SYSTEM VERSIONING;
INSERT INTO t VALUES (1,1,'2000-01-01','2020-01-01');
UPDATE t SET v=5;
DELETE FROM t WHERE id=1;
