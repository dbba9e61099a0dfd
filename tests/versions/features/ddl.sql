-- feature: create-forms
-- about: CREATE TABLE ... LIKE, ... SELECT, IF NOT EXISTS
CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20) DEFAULT 'd', KEY (v)) COMMENT='the first';
INSERT INTO a (v) VALUES ('x'),('y'),(NULL);
CREATE TABLE b LIKE a;
INSERT INTO b SELECT * FROM a;
CREATE TABLE c (id INT PRIMARY KEY) SELECT id, v, id*2 AS w FROM a;
CREATE TABLE IF NOT EXISTS a (id INT);
CREATE TABLE IF NOT EXISTS d LIKE a;
INSERT INTO d (v) VALUES ('in d');
CREATE TABLE e AS SELECT 1 AS one, 'text' AS two, 1.5 AS three, CAST('2024-01-01' AS DATE) AS four;
UPDATE c SET w=w+1;

-- feature: create-or-replace
-- about: CREATE OR REPLACE TABLE, also one that fails
-- only: mariadb
CREATE TABLE a (id INT PRIMARY KEY, v INT);
INSERT INTO a VALUES (1,1);
CREATE OR REPLACE TABLE a (id INT PRIMARY KEY, w VARCHAR(9));
INSERT INTO a VALUES (2,'two');
CREATE OR REPLACE TABLE b AS SELECT * FROM a;
CREATE OR REPLACE TABLE a SELECT id, 'x' AS y FROM b;
-- fails
CREATE OR REPLACE TABLE b (id INT PRIMARY KEY) SELECT 1 AS id UNION ALL SELECT 1;
INSERT INTO a VALUES (9,'z');

-- feature: add-columns
-- about: Columns added at the end, first and behind others, with and without rows
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,10),(2,20);
ALTER TABLE t ADD COLUMN a INT;
ALTER TABLE t ADD COLUMN b VARCHAR(10) NOT NULL DEFAULT 'bb' AFTER id;
ALTER TABLE t ADD COLUMN (c INT, d DATE), ADD e INT FIRST;
INSERT INTO t (id,v,a,b,c,d,e) VALUES (3,30,1,'x',2,'2024-01-01',3);
UPDATE t SET e=7 WHERE id=1;

-- feature: add-with-default
-- about: Columns added with defaults of every literal
CREATE TABLE t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1);
ALTER TABLE t ADD a BOOL DEFAULT FALSE, ADD b BIT(3) DEFAULT b'101', ADD c VARBINARY(9) DEFAULT 0x0A0B, ADD d INT DEFAULT -5, ADD e DECIMAL(8,3) DEFAULT 1.25, ADD f DOUBLE DEFAULT 1e3, ADD g VARCHAR(9) DEFAULT 'it''s', ADD h DATE DEFAULT '2024-02-29', ADD i DATETIME DEFAULT '2024-02-29 12:00:00', ADD j ENUM('x','y') NOT NULL DEFAULT 'y', ADD k SET('p','q') DEFAULT 'q,p', ADD l TIME DEFAULT '-01:00:00', ADD m YEAR DEFAULT 2001, ADD n INT NOT NULL, ADD o VARCHAR(5) NOT NULL, ADD p INT DEFAULT NULL, ADD q BOOL NOT NULL DEFAULT TRUE, ADD r BIT(8) DEFAULT 7;
INSERT INTO t (id,n,o) VALUES (2,1,'w');

-- feature: add-timestamp-default
-- about: A TIMESTAMP column added with a literal default
SET time_zone='+02:00';
CREATE TABLE t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1);
ALTER TABLE t ADD a TIMESTAMP NOT NULL DEFAULT '2024-03-01 12:00:00', ADD b TIMESTAMP(3) NULL DEFAULT '2001-01-01 00:00:00.125';
INSERT INTO t (id) VALUES (2);

-- feature: add-expression-default
-- about: Columns added to a table with rows, with defaults that the source computes
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1);
ALTER TABLE t ADD a INT DEFAULT (1+2), ADD b TIMESTAMP DEFAULT CURRENT_TIMESTAMP;
INSERT INTO t (id) VALUES (2);

-- feature: add-auto-increment
-- about: An AUTO_INCREMENT key added to a table with rows
-- refused: postgresql needs-rows
CREATE TABLE t (v VARCHAR(9) PRIMARY KEY);
INSERT INTO t VALUES ('a'),('b');
ALTER TABLE t DROP PRIMARY KEY, ADD id INT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST;
INSERT INTO t (v) VALUES ('c');

-- feature: widen-columns
-- about: Columns made wider with the rows in place
CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, b VARCHAR(10), c ENUM('x','y'), d DECIMAL(5,2), e TEXT, f INT, g BINARY(3), h FLOAT);
INSERT INTO t VALUES (1,-5,'ten chars!','y',123.45,'text',7,'abc',0.5),(2,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL);
ALTER TABLE t MODIFY a INT, MODIFY b VARCHAR(300), MODIFY c ENUM('x','y','z'), MODIFY d DECIMAL(12,4), MODIFY e MEDIUMTEXT, MODIFY f BIGINT NOT NULL DEFAULT 0;
UPDATE t SET a=100000, c='z', d=99999999.9999 WHERE id=1;
ALTER TABLE t MODIFY g BINARY(5), CHANGE f ff VARCHAR(30), MODIFY h DOUBLE;
INSERT INTO t VALUES (3,1,'x','x',1,'x','text','ab',1e300);

-- feature: drop-several
-- about: DROP of several tables and sequences, of which one is not there
-- only: mariadb
CREATE TABLE t (id INT PRIMARY KEY);
CREATE TABLE u (id INT PRIMARY KEY);
INSERT INTO t VALUES (1);
-- fails
DROP TABLE u, nosuch;
INSERT INTO t VALUES (2);

-- feature: padded-char-to-text
-- about: CHAR that becomes VARCHAR under PAD_CHAR_TO_FULL_LENGTH
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY, c CHAR(5));
INSERT INTO t VALUES (1,'a'),(2,'');
SET sql_mode='PAD_CHAR_TO_FULL_LENGTH,STRICT_ALL_TABLES';
ALTER TABLE t MODIFY c VARCHAR(9);
SET sql_mode=DEFAULT;
INSERT INTO t VALUES (3,'b');

-- feature: zerofill-to-text
-- about: Numbers with zeros in front, which become text
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY, a INT(5) UNSIGNED ZEROFILL, b DECIMAL(6,2) ZEROFILL, c SMALLINT ZEROFILL);
INSERT INTO t VALUES (1,42,1.5,7),(2,1234567,-0.0,0),(3,NULL,NULL,NULL);
ALTER TABLE t MODIFY a VARCHAR(10), MODIFY b CHAR(12), CHANGE c d TEXT;
UPDATE t SET a=CONCAT(a,'x') WHERE a='00042';

-- feature: narrow-columns
-- about: Columns of other types, which the source converts row by row
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), b DATETIME(6));
INSERT INTO t VALUES (1,'12','2024-01-01 00:00:00.987654');
ALTER TABLE t MODIFY a INT, MODIFY b DATETIME(2);
INSERT INTO t VALUES (2,5,'2024-01-01 00:00:00.12');

-- feature: rename-columns
-- about: Columns renamed, dropped, moved, and changed in one statement
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, KEY k (a), KEY (b));
INSERT INTO t VALUES (1,1,2,3);
ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a;
INSERT INTO t (id,a,b,c) VALUES (2,20,10,30);
ALTER TABLE t CHANGE c d BIGINT AFTER id, DROP COLUMN a;
INSERT INTO t VALUES (3,33,11);
ALTER TABLE t RENAME INDEX k TO kk, ALTER COLUMN b SET DEFAULT 5, ALTER d DROP DEFAULT;
INSERT INTO t (id,d) VALUES (4,44);
ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (d,id);
UPDATE t SET b=6 WHERE id=4;

-- feature: rename-tables
-- about: Tables renamed, exchanged, and moved to another database
CREATE DATABASE {db}__o;
CREATE TABLE a (id INT PRIMARY KEY, v INT);
CREATE TABLE b (id INT PRIMARY KEY, w VARCHAR(9));
INSERT INTO a VALUES (1,1);
INSERT INTO b VALUES (2,'b');
RENAME TABLE a TO x, b TO a, x TO b;
INSERT INTO a VALUES (3,'in a');
INSERT INTO b VALUES (4,4);
ALTER TABLE a RENAME TO c;
RENAME TABLE c TO {db}__o.c;
INSERT INTO {db}__o.c VALUES (5,'moved');
ALTER TABLE b RENAME {db}__o.b, ADD z INT;
INSERT INTO {db}__o.b VALUES (6,6,6);

-- feature: drop-and-truncate
-- about: Tables dropped and emptied, databases dropped
CREATE DATABASE {db}__x;
CREATE TABLE {db}__x.t (id INT PRIMARY KEY);
CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
CREATE TABLE b (id INT PRIMARY KEY);
INSERT INTO a (v) VALUES (1),(2);
INSERT INTO b VALUES (1);
INSERT INTO {db}__x.t VALUES (1);
TRUNCATE a;
INSERT INTO a (v) VALUES (3);
DROP TABLE IF EXISTS b, nothere;
DROP DATABASE {db}__x;
CREATE DATABASE {db}__x;
CREATE TABLE {db}__x.t (id INT PRIMARY KEY, v INT);
INSERT INTO {db}__x.t VALUES (1,1);
DROP DATABASE IF EXISTS {db}__y;
CREATE TABLE b (id VARCHAR(9) PRIMARY KEY);
INSERT INTO b VALUES ('again');

-- feature: generated-columns
-- about: Generated columns, virtual and stored, with keys over them
-- refused: mariadb <11.0 from mariadb 11.0 generated-older
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, v INT GENERATED ALWAYS AS (a+b) VIRTUAL, s INT AS (a*b) STORED, KEY (v), KEY (s));
INSERT INTO t (id,a,b) VALUES (1,2,3),(2,NULL,1),(3,5,5);
UPDATE t SET a=10 WHERE id=1;
DELETE FROM t WHERE id=2;
UPDATE t SET b=NULL WHERE id=3;

-- feature: generated-texts
-- about: Generated columns with functions of texts, whose values only the source can compute
-- refused: mariadb <11.0 from mariadb 11.0 generated-older
-- refused: postgresql from mariadb 11.0 generated
CREATE TABLE t (id INT PRIMARY KEY, a INT, n VARCHAR(30) AS (CONCAT('n',a)) VIRTUAL, KEY (n));
INSERT INTO t (id,a) VALUES (1,2),(2,NULL),(3,5);
UPDATE t SET a=10 WHERE id=1;
DELETE FROM t WHERE id=2;

-- feature: generated-unique
-- about: A unique key over a generated column, whose values move between rows
-- refused: mariadb <11.0 from mariadb 11.0 generated-older
CREATE TABLE t (id INT PRIMARY KEY, a INT, s INT AS (a+1) STORED, UNIQUE (s));
INSERT INTO t (id,a) VALUES (1,1),(2,2),(3,NULL);
UPDATE t SET a=100 WHERE id=1;
INSERT INTO t (id,a) VALUES (4,1);
DELETE FROM t WHERE id=2;
UPDATE t SET a=2 WHERE id=3;

-- feature: generated-added
-- about: Generated columns added later
-- refused: mariadb <11.0 from mariadb 11.0 generated-older
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(9));
ALTER TABLE t ADD v INT AS (a*2) VIRTUAL AFTER id, ADD KEY (v), ADD s VARCHAR(9) AS (b) STORED;
INSERT INTO t (id,a,b) VALUES (1,1,'x'),(2,2,'y');
UPDATE t SET a=3, b='z' WHERE id=1;

-- feature: generated-text-added
-- about: A generated column with a function of a text added later
-- refused: mariadb <11.0 from mariadb 11.0 generated-older
-- refused: postgresql from mariadb 11.0 generated
CREATE TABLE t (id INT PRIMARY KEY, b VARCHAR(9));
ALTER TABLE t ADD s VARCHAR(20) AS (UPPER(b)) STORED;
INSERT INTO t (id,b) VALUES (1,'x'),(2,'y');
UPDATE t SET b='z' WHERE id=1;

-- feature: defaults
-- about: Defaults that are expressions and functions, on rows that do not say them
CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT (1+2), b DATETIME DEFAULT CURRENT_TIMESTAMP, c VARCHAR(40) DEFAULT (UUID()), d TEXT DEFAULT ('text'), e DOUBLE DEFAULT (RAND()));
INSERT INTO t (id) VALUES (1),(2);
UPDATE t SET a=DEFAULT WHERE id=1;
ALTER TABLE t ALTER a SET DEFAULT 9;
INSERT INTO t (id) VALUES (3);

-- feature: checks
-- about: CHECK constraints, added, dropped and not enforced
CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a>0), b INT, CONSTRAINT ab CHECK (a<b));
INSERT INTO t VALUES (1,1,2),(2,NULL,NULL);
ALTER TABLE t ADD CONSTRAINT small CHECK (b<100);
-- fails
INSERT INTO t VALUES (3,1,1000);
ALTER TABLE t DROP CONSTRAINT small;
INSERT INTO t VALUES (4,1,1000);

-- feature: partitions
-- about: Partitioned tables, with partitions added and reorganised
CREATE TABLE r (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (100));
CREATE TABLE h (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 3;
CREATE TABLE k (a INT, b VARCHAR(9), PRIMARY KEY (a,b)) PARTITION BY KEY (b) PARTITIONS 2;
CREATE TABLE l (id INT, c INT, PRIMARY KEY (id,c)) PARTITION BY LIST COLUMNS (c) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION pa VALUES IN (1,2), PARTITION pb VALUES IN (3));
INSERT INTO r VALUES (1,1),(50,2);
INSERT INTO h VALUES (1,1),(2,2),(3,3);
INSERT INTO k VALUES (1,'a'),(2,'b');
INSERT INTO l VALUES (1,1),(2,3);
ALTER TABLE r ADD PARTITION (PARTITION p2 VALUES LESS THAN MAXVALUE);
INSERT INTO r VALUES (1000,3);
ALTER TABLE r REORGANIZE PARTITION p0, p1 INTO (PARTITION q VALUES LESS THAN (100));
UPDATE r SET id=2000 WHERE id=1;
ALTER TABLE h COALESCE PARTITION 1;
UPDATE h SET id=id+10 ORDER BY id DESC;
ALTER TABLE k REMOVE PARTITIONING;
DELETE FROM l WHERE c=3;

-- feature: partition-drop
-- about: Whole partitions dropped, emptied and exchanged, with rows in them
-- refused: postgresql partition
CREATE TABLE r (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (100), PARTITION p2 VALUES LESS THAN (1000));
CREATE TABLE x (id INT PRIMARY KEY, v INT);
INSERT INTO r VALUES (1,1),(50,2),(500,3);
INSERT INTO x VALUES (70,7);
ALTER TABLE r EXCHANGE PARTITION p1 WITH TABLE x;
ALTER TABLE r TRUNCATE PARTITION p2;
ALTER TABLE r DROP PARTITION p0;
INSERT INTO r VALUES (3,3),(501,4);

-- feature: indexes
-- about: Indexes made and dropped by statements of their own, and online
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(50), c INT);
INSERT INTO t VALUES (1,1,'x',1),(2,2,'y',2);
CREATE INDEX i1 ON t (a);
CREATE UNIQUE INDEX i2 ON t (b,c);
ALTER TABLE t ADD INDEX i3 (c), ALGORITHM=INPLACE, LOCK=NONE;
DROP INDEX i1 ON t;
ALTER TABLE t ADD COLUMN d INT DEFAULT 3, ALGORITHM=INSTANT;
ALTER TABLE t DROP INDEX i3, ADD UNIQUE u (c);
UPDATE t SET c=c+10;
OPTIMIZE TABLE t;
ANALYZE TABLE t;
ALTER TABLE t ENGINE=InnoDB, ROW_FORMAT=DYNAMIC;
INSERT INTO t VALUES (3,3,'z',3,4);

-- feature: if-exists
-- about: IF EXISTS and IF NOT EXISTS in MariaDB's DDL, and sql_if_exists
-- only: mariadb
CREATE TABLE t (id INT PRIMARY KEY, a INT);
ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT, ADD COLUMN IF NOT EXISTS b INT;
ALTER TABLE IF EXISTS nothere ADD x INT;
ALTER TABLE t DROP COLUMN IF EXISTS q, ADD INDEX IF NOT EXISTS k (a);
CREATE INDEX IF NOT EXISTS k ON t (a);
DROP INDEX IF EXISTS nok ON t;
RENAME TABLE IF EXISTS nothere TO there;
CREATE DATABASE IF NOT EXISTS {db};
INSERT INTO t VALUES (1,1,1);
SET sql_if_exists=ON;
DROP TABLE nothere;
ALTER TABLE nothere ADD z INT;
INSERT INTO t VALUES (2,2,2);

-- feature: comments-around
-- about: Statements behind comments, in version comments, and with quotes of every kind
/* first */ CREATE DATABASE {db}__c;
CREATE /* in */ TABLE /*!40101 {db}__c.t */ (id INT PRIMARY KEY, v INT) -- the end
;
# a comment
INSERT INTO {db}__c.t VALUES (1,1);
/*!40000 ALTER TABLE {db}__c.t ADD w INT */;
INSERT INTO {db}__c.t VALUES (2,2,2);
/*!50003 CREATE DATABASE {db}__e */;
CREATE TABLE {db}__e.t (id INT PRIMARY KEY);
INSERT INTO {db}__e.t VALUES (1);
SET sql_mode='ANSI_QUOTES';
CREATE TABLE "q u" ("i d" INT PRIMARY KEY, "v" VARCHAR(9) DEFAULT 'x');
INSERT INTO "q u" VALUES (1,'y');
SET sql_mode='NO_BACKSLASH_ESCAPES';
CREATE TABLE n (id INT PRIMARY KEY, v VARCHAR(9) DEFAULT 'a\b');
INSERT INTO n (id) VALUES (1);

-- feature: odd-ddl
-- about: Introducers, labels in hexadecimal, qualified column names and other rare forms
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT _utf8mb4'ä', e ENUM(0x61,'b') CHARACTER SET latin1, n NATIONAL VARCHAR(9), l LONG VARCHAR, d DOUBLE PRECISION, f FIXED(5,2), i INT4, m INTEGER UNSIGNED, c CHARACTER VARYING(7), b CHAR BYTE);
INSERT INTO t (id,e,n,l,d,f,i,m,c,b) VALUES (1,'a','nat','long',1.5,1.25,4,5,'cv','y');
CREATE INDEX k ON t (v) COMMENT 'c';
ALTER TABLE t ALTER COLUMN v SET DEFAULT _latin1'x';
INSERT INTO t (id) VALUES (2);

-- feature: invisible-columns
-- about: Invisible columns
CREATE TABLE t (id INT PRIMARY KEY, a INT INVISIBLE DEFAULT 5, b INT);
INSERT INTO t VALUES (1,2);
INSERT INTO t (id,a,b) VALUES (2,7,8);
-- if: mysql
ALTER TABLE t ALTER COLUMN a SET VISIBLE;
INSERT INTO t (id,a,b) VALUES (3,1,1);

-- feature: tablespaces
-- about: General tablespaces
-- only: mysql
CREATE TABLESPACE {db}_ts ADD DATAFILE '{db}.ibd';
CREATE TABLE t (id INT PRIMARY KEY) TABLESPACE {db}_ts;
INSERT INTO t VALUES (1),(2);
CREATE TABLE u (id INT PRIMARY KEY);
INSERT INTO u VALUES (5);
ALTER TABLE t TABLESPACE innodb_file_per_table;
DROP TABLESPACE {db}_ts;
INSERT INTO t VALUES (3);

-- feature: alter-order
-- about: ALTER TABLE that sorts, converts and changes everything at once
CREATE TABLE t (id INT, a VARCHAR(20) CHARACTER SET latin1, KEY (id));
INSERT INTO t VALUES (2,'é'),(1,'x');
ALTER TABLE t ORDER BY id;
ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, COMMENT='c';
INSERT INTO t VALUES (3,'😀');
ALTER TABLE t DEFAULT CHARACTER SET latin1, ADD b VARCHAR(9), MODIFY id INT NOT NULL, ADD PRIMARY KEY (id);
INSERT INTO t VALUES (4,'€','ä');
ALTER TABLE t FORCE;
UPDATE t SET a='y' WHERE id=1;

-- feature: add-unique-ignore
-- about: MariaDB's ALTER IGNORE TABLE, which drops rows that the log does not name
-- only: mariadb
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY, a INT);
INSERT INTO t VALUES (1,1),(2,1),(3,2);
ALTER IGNORE TABLE t ADD UNIQUE (a);
INSERT INTO t VALUES (4,4);

-- feature: alter-ignore-check
-- about: MariaDB's ALTER IGNORE TABLE with a check that some rows violate
-- only: mariadb
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY, a INT);
INSERT INTO t VALUES (1,1),(2,-1),(3,2);
ALTER IGNORE TABLE t ADD CHECK (a>0);
INSERT INTO t VALUES (4,4);

-- feature: alter-ignore-partition
-- about: MariaDB's ALTER IGNORE TABLE with partitions that have no room for some rows
-- only: mariadb
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY, a INT);
INSERT INTO t VALUES (1,1),(2,2),(30,3);
ALTER IGNORE TABLE t PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (20));
INSERT INTO t VALUES (4,4);

-- feature: alter-ignore-empty
-- about: MariaDB's ALTER IGNORE TABLE of tables without rows
-- only: mariadb
CREATE TABLE t (id INT PRIMARY KEY, a INT);
ALTER IGNORE TABLE t ADD UNIQUE (a), ADD b INT NOT NULL;
INSERT INTO t VALUES (1,1,1),(2,2,2);

-- feature: not-null-lax
-- about: A column that takes no NULL any more, outside of strict mode, in a table with NULL in it
-- refused: postgresql needs-rows
CREATE TABLE t (id INT PRIMARY KEY, a INT);
INSERT INTO t VALUES (1,1),(2,NULL);
SET sql_mode='';
ALTER TABLE t MODIFY a INT NOT NULL;
INSERT INTO t VALUES (4,4);

-- feature: not-null-lax-none
-- about: The same in a table without NULL
CREATE TABLE t (id INT PRIMARY KEY, a INT);
INSERT INTO t VALUES (1,1),(2,2);
SET sql_mode='';
ALTER TABLE t MODIFY a INT NOT NULL;
INSERT INTO t VALUES (4,4);
