-- feature: key-composite
-- about: Composite primary keys in another order than the columns
CREATE TABLE t (a INT, b VARCHAR(20), c DATE, v INT, PRIMARY KEY (c,b,a));
INSERT INTO t VALUES (1,'x','2024-01-01',1),(1,'y','2024-01-01',2),(2,'x','2024-01-01',3),(1,'x','2024-01-02',4);
UPDATE t SET b='z', v=9 WHERE a=2;
UPDATE t SET v=v+1 WHERE c='2024-01-01';
DELETE FROM t WHERE b='y';

-- feature: key-changes
-- about: Primary keys that change, and change places
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10), UNIQUE (v));
INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c');
UPDATE t SET id=id+10 ORDER BY id DESC;
BEGIN;
UPDATE t SET id=0 WHERE id=11;
UPDATE t SET id=11 WHERE id=12;
UPDATE t SET id=12 WHERE id=0;
COMMIT;
BEGIN;
UPDATE t SET v='tmp' WHERE v='a';
UPDATE t SET v='a' WHERE v='b';
UPDATE t SET v='b' WHERE v='tmp';
COMMIT;
DELETE FROM t WHERE v='c';
INSERT INTO t VALUES (100,'c');

-- feature: unique-moves
-- about: Unique values that one row gives up and another one takes in the next transaction
CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, w INT);
INSERT INTO t VALUES (1,1,0),(2,2,0),(3,NULL,0),(4,NULL,0);
UPDATE t SET u=NULL WHERE id=1;
UPDATE t SET u=1 WHERE id=3;
UPDATE t SET u=5 WHERE id=2;
INSERT INTO t VALUES (5,2,1);
DELETE FROM t WHERE id=5;
UPDATE t SET u=2 WHERE id=4;
REPLACE INTO t VALUES (6,1,7);
INSERT INTO t VALUES (7,2,1) ON DUPLICATE KEY UPDATE w=w+1;

-- feature: unique-only
-- about: Tables without a primary key, with unique keys that are NOT NULL or nullable
CREATE TABLE n (a INT NOT NULL, v INT, UNIQUE (a));
CREATE TABLE y (a INT, b INT, v INT, UNIQUE (a,b));
INSERT INTO n VALUES (1,1),(2,2),(3,3);
INSERT INTO y VALUES (1,NULL,1),(1,NULL,1),(NULL,NULL,2),(1,1,3);
UPDATE n SET a=a+10 ORDER BY a DESC;
UPDATE y SET v=v+1 WHERE b IS NULL LIMIT 1;
UPDATE y SET b=2 WHERE b=1;
DELETE FROM y WHERE a IS NULL;
DELETE FROM n WHERE a=12;

-- feature: no-key
-- about: Tables without any key, with equal rows
CREATE TABLE t (a INT, b VARCHAR(20), f FLOAT);
INSERT INTO t VALUES (1,'x',0.1),(1,'x',0.1),(2,NULL,NULL),(NULL,NULL,NULL),(3,'a',1.5);
UPDATE t SET b='y' WHERE a=1 LIMIT 1;
DELETE FROM t WHERE a IS NULL;
UPDATE t SET f=f*3 WHERE a=3;
INSERT INTO t SELECT * FROM t;
DELETE FROM t WHERE a=2 LIMIT 1;

-- feature: key-only-index
-- about: Tables with plain indexes only
CREATE TABLE t (a INT, b VARCHAR(20), KEY (a), KEY (b,a));
INSERT INTO t VALUES (1,'x'),(1,'x'),(2,'y'),(NULL,NULL);
UPDATE t SET a=5 WHERE b='y';
DELETE FROM t WHERE a=1 LIMIT 1;

-- feature: key-prefix
-- about: Keys on prefixes
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(100), b TEXT, c BLOB, UNIQUE KEY (a(3)), KEY (b(10)), UNIQUE KEY (c(4)));
INSERT INTO t VALUES (1,'abcdef','text one',x'0102030405'),(2,'abd','text two',x'0102030505');
UPDATE t SET a='xyz1' WHERE id=1;
INSERT INTO t VALUES (3,'abcxxx','t',x'01');
CREATE TABLE p (a VARCHAR(200), v INT, PRIMARY KEY (a(5)));
INSERT INTO p VALUES ('aaaaab',1),('aaaac',2);
UPDATE p SET a='aaaaabbbb', v=3 WHERE v=1;
DELETE FROM p WHERE v=2;

-- feature: key-types
-- about: Primary keys of every type
CREATE TABLE k1 (k BINARY(4) PRIMARY KEY, v INT);
CREATE TABLE k2 (k VARBINARY(20) PRIMARY KEY, v INT);
CREATE TABLE k3 (k DATETIME(6) PRIMARY KEY, v INT);
CREATE TABLE k4 (k DECIMAL(20,5) PRIMARY KEY, v INT);
CREATE TABLE k5 (k DOUBLE PRIMARY KEY, v INT);
CREATE TABLE k6 (k ENUM('b','a') PRIMARY KEY, v INT);
CREATE TABLE k7 (k BIT(12) PRIMARY KEY, v INT);
CREATE TABLE k8 (k TIME(3) PRIMARY KEY, v INT);
CREATE TABLE k9 (k BIGINT UNSIGNED PRIMARY KEY, v INT);
CREATE TABLE ka (k TIMESTAMP(3) NOT NULL DEFAULT '2000-01-01 00:00:00' PRIMARY KEY, v INT);
CREATE TABLE kb (k SET('x','y') PRIMARY KEY, v INT);
CREATE TABLE kc (k YEAR PRIMARY KEY, v INT);
CREATE TABLE kd (k CHAR(10) CHARACTER SET latin1 PRIMARY KEY, v INT);
CREATE TABLE ke (k FLOAT PRIMARY KEY, v INT);
INSERT INTO k1 VALUES ('a',1),('b',2);
INSERT INTO k2 VALUES ('a',1),('a ',2),('',3);
INSERT INTO k3 VALUES ('2024-01-01 00:00:00.000001',1),('2024-01-01 00:00:00.000002',2);
INSERT INTO k4 VALUES (1.5,1),(-1.50001,2);
INSERT INTO k5 VALUES (0.1,1),(-1e100,2);
INSERT INTO k6 VALUES ('a',1),('b',2);
INSERT INTO k7 VALUES (1,1),(4095,2);
INSERT INTO k8 VALUES ('-10:00:00.5',1),('100:00:00.25',2);
INSERT INTO k9 VALUES (18446744073709551615,1),(0,2);
INSERT INTO ka VALUES ('2024-01-01 00:00:00.001',1),('2024-01-01 00:00:00.002',2);
INSERT INTO kb VALUES ('x,y',1),('',2);
INSERT INTO kc VALUES (2000,1),(1999,2);
INSERT INTO kd VALUES ('é',1),('f',2);
INSERT INTO ke VALUES (0.5,1),(1024,2);
UPDATE k1 SET v=v+10 WHERE v=1;
UPDATE k2 SET v=v+10 WHERE v>=2;
UPDATE k3 SET v=v+10 WHERE v=1;
UPDATE k4 SET v=v+10 WHERE v=1;
UPDATE k5 SET v=v+10 WHERE v=1;
UPDATE k6 SET v=v+10 WHERE v=1;
UPDATE k7 SET v=v+10 WHERE v=1;
UPDATE k8 SET v=v+10 WHERE v=1;
UPDATE k9 SET v=v+10 WHERE v=1;
UPDATE ka SET v=v+10 WHERE v=1;
UPDATE kb SET v=v+10 WHERE v=1;
UPDATE kc SET v=v+10 WHERE v=1;
UPDATE kd SET v=v+10 WHERE v=1;
UPDATE ke SET v=v+10 WHERE v=1;
DELETE FROM k1 WHERE v=2;
DELETE FROM k5 WHERE v=2;
DELETE FROM k8 WHERE v=2;

-- feature: key-functional
-- about: Keys over expressions, unique and plain
-- only: mysql
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), UNIQUE KEY f ((a % 100)), KEY g ((UPPER(b))));
INSERT INTO t VALUES (1,101,'x'),(2,202,'y'),(3,NULL,NULL);
UPDATE t SET a=303 WHERE id=1;
INSERT INTO t VALUES (4,1,'z');
DELETE FROM t WHERE id=2;
INSERT INTO t VALUES (5,2,'q');

-- feature: key-multi-valued
-- about: Multi-valued keys over JSON arrays
-- only: mysql
CREATE TABLE t (id INT PRIMARY KEY, j JSON, UNIQUE KEY m ((CAST(j->'$.tags' AS UNSIGNED ARRAY))));
INSERT INTO t VALUES (1,'{"tags":[1,2,3]}'),(2,'{"tags":[4,5]}'),(3,'{}');
UPDATE t SET j='{"tags":[1,9]}' WHERE id=1;
INSERT INTO t VALUES (4,'{"tags":[2,3]}');
DELETE FROM t WHERE id=2;
INSERT INTO t VALUES (5,'{"tags":[4]}');

-- feature: key-kinds
-- about: Descending, full-text, spatial and hidden indexes
-- refused: mariadb <10.6 from mariadb 10.6 older-definition
CREATE TABLE t (id INT PRIMARY KEY, a INT, b TEXT, KEY (a DESC), FULLTEXT KEY (b));
CREATE TABLE i (id INT PRIMARY KEY, a INT, KEY k (a));
-- if: mysql
ALTER TABLE i ALTER INDEX k INVISIBLE;
-- if: mariadb 10.6
ALTER TABLE i ALTER INDEX k IGNORED;
INSERT INTO t VALUES (1,1,'some words here'),(2,2,'other words'),(3,NULL,NULL);
INSERT INTO i VALUES (1,1),(2,2);
UPDATE t SET b='new words' WHERE id=2;
DELETE FROM t WHERE id=1;
DELETE FROM i WHERE a=1;

-- feature: key-spatial
-- about: A spatial index
-- refused: postgresql type
CREATE TABLE t (id INT PRIMARY KEY, p POINT NOT NULL, SPATIAL KEY (p));
INSERT INTO t VALUES (1,ST_GeomFromText('POINT(1 2)')),(2,ST_GeomFromText('POINT(3 4)'));
UPDATE t SET p=ST_GeomFromText('POINT(5 6)') WHERE id=1;
DELETE FROM t WHERE id=2;

-- feature: key-long-unique
-- about: Unique keys that are too long for an index, which MariaDB keeps by a hash
-- only: mariadb
CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b BLOB, c VARCHAR(3000) CHARACTER SET utf8mb4, UNIQUE (a), UNIQUE (b,c), UNIQUE KEY h (c) USING HASH);
INSERT INTO t VALUES (1,'one',x'01','c1'),(2,'two',x'02','c2'),(3,NULL,NULL,NULL);
UPDATE t SET a='three' WHERE id=1;
INSERT INTO t VALUES (4,'one',x'01','c4');
DELETE FROM t WHERE id=2;
INSERT INTO t VALUES (5,'two',x'02','c2');

-- feature: gipk
-- about: Generated invisible primary keys
-- only: mysql
SET sql_generate_invisible_primary_key=ON;
CREATE TABLE t (a INT, b VARCHAR(20));
INSERT INTO t VALUES (1,'x'),(1,'x'),(2,NULL);
UPDATE t SET b='y' WHERE a=2;
DELETE FROM t WHERE a=1 LIMIT 1;

-- feature: gipk-add-first
-- about: A column added first to a table with a generated invisible primary key
-- only: mysql
SET sql_generate_invisible_primary_key=ON;
CREATE TABLE t (a BIGINT UNSIGNED, b VARCHAR(20));
INSERT INTO t VALUES (11,'x'),(22,'y');
ALTER TABLE t ADD COLUMN z BIGINT UNSIGNED FIRST;
INSERT INTO t VALUES (7,33,'w');
UPDATE t SET z=8 WHERE a=11;

-- feature: auto-increment
-- about: AUTO_INCREMENT with steps, gaps, negative and largest values
SET auto_increment_increment=3, auto_increment_offset=2;
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
INSERT INTO t (v) VALUES (1),(2),(3);
INSERT INTO t VALUES (-5,4),(1000,5);
INSERT INTO t (v) VALUES (6);
SET sql_mode='NO_AUTO_VALUE_ON_ZERO';
INSERT INTO t VALUES (0,7);
ALTER TABLE t AUTO_INCREMENT=5000;
INSERT INTO t (v) VALUES (8);
CREATE TABLE s (a INT, id INT AUTO_INCREMENT, KEY (id), PRIMARY KEY (a,id));
INSERT INTO s (a) VALUES (1),(1),(2);
