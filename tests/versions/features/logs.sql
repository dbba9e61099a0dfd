-- feature: compression
-- about: Compressed transactions and events
-- if: mariadb
SET GLOBAL log_bin_compress=ON, GLOBAL log_bin_compress_min_len=10;
-- if: mysql
SET binlog_transaction_compression=ON;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(2000), w VARCHAR(100) DEFAULT 'a default that is long enough to be compressed');
INSERT INTO t (id,v) VALUES (1,REPEAT('abc',600)),(2,REPEAT('x',2000));
BEGIN;
INSERT INTO t (id,v) VALUES (3,'y');
UPDATE t SET v=REPEAT('z',1500) WHERE id<3;
DELETE FROM t WHERE id=3;
COMMIT;
INSERT INTO t (id,v) SELECT id+10, v FROM t;
ALTER TABLE t ADD COLUMN other VARCHAR(300) DEFAULT 'another long default so that the statement is compressed too';
INSERT INTO t (id) VALUES (99);
-- if: mariadb
SET GLOBAL log_bin_compress=DEFAULT, GLOBAL log_bin_compress_min_len=DEFAULT;

-- feature: image-minimal
-- about: binlog_row_image=MINIMAL, with and without keys
-- refused: postgresql partial-insert
SET binlog_row_image=MINIMAL;
CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 5, b VARCHAR(20), c BLOB);
CREATE TABLE n (a INT, b VARCHAR(20));
CREATE TABLE u (a INT NOT NULL UNIQUE, b INT, c TEXT);
INSERT INTO t VALUES (1,1,'x','blob'),(2,2,'y',NULL);
INSERT INTO t (id) VALUES (3);
INSERT INTO n VALUES (1,'x'),(2,'y');
INSERT INTO u VALUES (1,1,'t'),(2,2,'u');
UPDATE t SET b='z' WHERE id=1;
UPDATE t SET id=10, c='new' WHERE id=2;
UPDATE n SET b='changed' WHERE a=1;
UPDATE u SET b=9 WHERE a=1;
DELETE FROM t WHERE id=3;
DELETE FROM n WHERE a=2;
DELETE FROM u WHERE a=2;

-- feature: image-minimal-full
-- about: binlog_row_image=MINIMAL, where inserts carry all columns
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c BLOB);
INSERT INTO t VALUES (1,1,'x','blob'),(2,2,'y',NULL),(3,3,'z','b');
SET binlog_row_image=MINIMAL;
UPDATE t SET b='q' WHERE id=1;
UPDATE t SET id=10, c='new' WHERE id=2;
DELETE FROM t WHERE id=3;
UPDATE t SET a=NULL WHERE id=10;

-- feature: image-noblob
-- about: binlog_row_image=NOBLOB
SET binlog_row_image=NOBLOB;
CREATE TABLE t (id INT PRIMARY KEY, a INT, b TEXT, c BLOB);
INSERT INTO t VALUES (1,1,'x','blob'),(2,2,'y',NULL);
UPDATE t SET a=5 WHERE id=1;
UPDATE t SET b='new' WHERE id=2;
DELETE FROM t WHERE id=1;

-- feature: image-nodup
-- about: binlog_row_image=FULL_NODUP
-- only: mariadb 11.4
SET binlog_row_image=FULL_NODUP;
CREATE TABLE t (id INT PRIMARY KEY, a INT, b TEXT);
CREATE TABLE n (a INT, b VARCHAR(9));
INSERT INTO t VALUES (1,1,'x'),(2,2,'y');
INSERT INTO n VALUES (1,'x'),(1,'x');
UPDATE t SET a=5 WHERE id=1;
UPDATE t SET id=20, b='new' WHERE id=2;
UPDATE n SET b='y' WHERE a=1 LIMIT 1;
DELETE FROM t WHERE id=1;

-- feature: image-generated
-- about: Partial images of tables with generated columns
-- refused: mariadb <11.0 from mariadb 11.0 generated-older
CREATE TABLE t (id INT PRIMARY KEY, a INT, b TEXT, s INT AS (a+1) STORED, v INT AS (a+2) VIRTUAL, UNIQUE (s));
INSERT INTO t (id,a,b) VALUES (1,1,'x'),(2,2,'y'),(3,3,'z');
SET binlog_row_image=MINIMAL;
UPDATE t SET a=10 WHERE id=1;
UPDATE t SET a=1 WHERE id=2;
SET binlog_row_image=NOBLOB;
UPDATE t SET a=2 WHERE id=3;
DELETE FROM t WHERE id=1;

-- feature: metadata-full
-- about: binlog_row_metadata=FULL
SET GLOBAL binlog_row_metadata=FULL;
CREATE TABLE t (id INT UNSIGNED, a VARCHAR(20) CHARACTER SET latin1, b ENUM('x','y'), c SET('p','q'), d DECIMAL(8,2) UNSIGNED, PRIMARY KEY (a(5),id), KEY (b));
INSERT INTO t VALUES (1,'é','x','p,q',1.5),(2,'abcdefgh','y','',0);
UPDATE t SET a='w' WHERE id=2;
ALTER TABLE t ADD e TEXT CHARACTER SET utf8mb4 AFTER id;
INSERT INTO t VALUES (3,'€','a','x','p',1);
SET GLOBAL binlog_row_metadata=DEFAULT;

-- feature: metadata-minimal
-- about: binlog_row_metadata=MINIMAL
SET GLOBAL binlog_row_metadata=MINIMAL;
CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b ENUM('x','y'), c TEXT, d BIGINT UNSIGNED);
INSERT INTO t VALUES (1,'é','x','p,q',18446744073709551615),(4294967295,'abcdefgh','y','',0);
UPDATE t SET a='w' WHERE id=1;
SET GLOBAL binlog_row_metadata=DEFAULT;

-- feature: metadata-none
-- about: binlog_row_metadata=NO_LOG
-- only: mariadb
SET GLOBAL binlog_row_metadata=NO_LOG;
CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b ENUM('x','y'), c TEXT, d BIGINT UNSIGNED);
INSERT INTO t VALUES (1,'é','x','p,q',18446744073709551615),(4294967295,'abcdefgh','y','',0);
UPDATE t SET a='w' WHERE id=1;
SET GLOBAL binlog_row_metadata=DEFAULT;

-- feature: several-files
-- about: A log of several files, with DDL and rows in each
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1);
FLUSH BINARY LOGS;
INSERT INTO t VALUES (2,2);
FLUSH BINARY LOGS;
FLUSH BINARY LOGS;
ALTER TABLE t ADD w INT;
INSERT INTO t VALUES (3,3,3);

-- feature: no-checksums
-- about: Events without checksums
SET GLOBAL binlog_checksum=NONE;
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1),(2,2);
UPDATE t SET v=3;
SET GLOBAL binlog_checksum=CRC32;

-- feature: row-queries
-- about: The texts of statements beside their rows
-- if: mysql
SET binlog_rows_query_log_events=ON;
-- if: mariadb
SET binlog_annotate_row_events=ON;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO t VALUES (1,'ä'),(2,'b');
UPDATE t SET v='c' /* with a comment */ WHERE id=2;

-- feature: gtid-tags
-- about: GTIDs with tags and of another server
-- only: mysql 8.3
CREATE TABLE t (id INT PRIMARY KEY, v INT);
SET gtid_next='AUTOMATIC:tag_one';
INSERT INTO t VALUES (1,1);
SET gtid_next='AUTOMATIC:two';
CREATE TABLE u (id INT PRIMARY KEY);
INSERT INTO u VALUES (1);
SET gtid_next='AUTOMATIC';
INSERT INTO t VALUES (2,2);

-- feature: gtid-domains
-- about: GTIDs of several domains and servers
-- only: mariadb
CREATE TABLE t (id INT PRIMARY KEY, v INT);
SET gtid_domain_id=7;
INSERT INTO t VALUES (1,1);
SET gtid_domain_id=8, server_id=55;
CREATE TABLE u (id INT PRIMARY KEY);
INSERT INTO u VALUES (1);
SET gtid_domain_id=0, server_id=1;
INSERT INTO t VALUES (2,2);

-- feature: no-log
-- about: Statements that are not logged, and their traces
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1,1);
SET sql_log_bin=0;
CREATE TEMPORARY TABLE x (id INT);
SET sql_log_bin=1;
INSERT INTO t VALUES (2,2);
FLUSH TABLES;
