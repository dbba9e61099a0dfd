-- feature: case-insensitive
-- about: Keys in collations that ignore case, accents or spaces at the end
CREATE TABLE t (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, v INT);
INSERT INTO t VALUES ('a',1),('b ',2),('é',3),('straße',4);
UPDATE t SET k='A' WHERE k='a';
DELETE FROM t WHERE k='B';
INSERT INTO t VALUES ('b',5);
REPLACE INTO t VALUES ('É',6);
INSERT INTO t VALUES ('STRASSF',7);

-- feature: unicode-collations
-- about: Keys in the Unicode collations that all versions have
CREATE TABLE a (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci PRIMARY KEY, v INT);
CREATE TABLE b (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci PRIMARY KEY, v INT);
CREATE TABLE c (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_turkish_ci PRIMARY KEY, v INT);
CREATE TABLE d (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, v INT);
INSERT INTO a VALUES ('ß',1),('😀',2),('x',3);
INSERT INTO b VALUES ('ß',1),('😀',2),('😁',3);
INSERT INTO c VALUES ('ı',1),('i',2);
INSERT INTO d VALUES ('a',1),('A',2),('á',3);
UPDATE a SET k='SS' WHERE v=1;
UPDATE b SET k='z' WHERE v=3;
UPDATE c SET k='İ' WHERE v=2;
DELETE FROM d WHERE k='A';

-- feature: collations-0900
-- about: Keys in MySQL's collations by Unicode 9
-- only: mysql
CREATE TABLE a (k VARCHAR(20) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, v INT);
CREATE TABLE b (k VARCHAR(20) COLLATE utf8mb4_0900_as_cs PRIMARY KEY, v INT);
CREATE TABLE c (k VARCHAR(20) COLLATE utf8mb4_de_pb_0900_ai_ci PRIMARY KEY, v INT);
CREATE TABLE d (k VARCHAR(20) COLLATE utf8mb4_ja_0900_as_cs PRIMARY KEY, v INT);
INSERT INTO a VALUES ('é',1),('b ',2),('b',3);
INSERT INTO b VALUES ('é',1),('e',2),('E',3);
INSERT INTO c VALUES ('ö',1),('p',2);
INSERT INTO d VALUES ('か',1),('が',2);
UPDATE a SET k='E' WHERE v=1;
UPDATE c SET k='oe' WHERE v=1;
DELETE FROM b WHERE k='E';

-- feature: collations-1400
-- about: Keys in MariaDB's collations by Unicode 14
-- only: mariadb 10.10
-- refused: mariadb <10.10 older-definition
CREATE TABLE a (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci PRIMARY KEY, v INT);
CREATE TABLE b (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_nopad_as_cs PRIMARY KEY, v INT);
CREATE TABLE c (k VARCHAR(20) CHARACTER SET utf8mb3 COLLATE uca1400_ai_ci PRIMARY KEY, v INT);
INSERT INTO a VALUES ('é',1),('b',2);
INSERT INTO b VALUES ('é',1),('e',2),('E',3),('e ',4);
INSERT INTO c VALUES ('é',1);
UPDATE a SET k='E' WHERE v=1;
UPDATE c SET k='e' WHERE v=1;
DELETE FROM b WHERE k='E';

-- feature: default-collation
-- about: CHARSET=utf8mb4 without COLLATE, which means another collation in other versions
CREATE TABLE t (k VARCHAR(20) PRIMARY KEY, v INT) CHARACTER SET utf8mb4;
CREATE TABLE u (k VARCHAR(20) CHARACTER SET utf8mb4 PRIMARY KEY, w VARCHAR(20) CHARACTER SET utf8mb3);
CREATE TABLE p (k VARCHAR(20) PRIMARY KEY, v INT);
INSERT INTO t VALUES ('ß',1),('x',2);
INSERT INTO u VALUES ('ı','a');
INSERT INTO p VALUES ('y',1);
UPDATE t SET v=3 WHERE k='ß';
ALTER TABLE p ADD COLUMN s VARCHAR(9) CHARACTER SET utf8mb4;
CREATE DATABASE {db}__d CHARACTER SET utf8mb4;
CREATE TABLE {db}__d.t (k VARCHAR(20) PRIMARY KEY);
INSERT INTO {db}__d.t VALUES ('é');
ALTER TABLE p CONVERT TO CHARACTER SET utf8mb4;

-- feature: charset-collations
-- about: The session's character_set_collations
-- only: mariadb 11.2
-- refused: older older-definition
-- refused: older newer-collation
SET character_set_collations='utf8mb4=uca1400_ai_ci,latin1=latin1_bin';
CREATE TABLE t (k VARCHAR(20) PRIMARY KEY, v INT) CHARACTER SET utf8mb4;
CREATE TABLE l (k VARCHAR(20) PRIMARY KEY, v INT) CHARACTER SET latin1;
SET character_set_collations='';
CREATE TABLE e (k VARCHAR(20) PRIMARY KEY, v INT) CHARACTER SET utf8mb4;
INSERT INTO t VALUES ('ß',1);
INSERT INTO l VALUES ('a',1),('A',2);
INSERT INTO e VALUES ('ß',1);

-- feature: charsets-common
-- about: Columns in latin1, ascii, utf8mb3 and utf8mb4
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b VARCHAR(20) CHARACTER SET ascii, c VARCHAR(20) CHARACTER SET utf8mb3, d VARCHAR(20) CHARACTER SET utf8mb4, e TEXT CHARACTER SET latin1, f CHAR(9) CHARACTER SET latin1 COLLATE latin1_german2_ci);
INSERT INTO t VALUES (1,'é€','abc','äß','😀','ÿ','ö'),(2,'\\''','','','','','');
UPDATE t SET a='ÿ', f='oe' WHERE id=1;

-- feature: charsets-rare
-- about: Columns in character sets of two bytes and of other scripts
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET ucs2, b VARCHAR(20) CHARACTER SET utf16, c VARCHAR(20) CHARACTER SET utf32, d VARCHAR(20) CHARACTER SET cp1251, e VARCHAR(20) CHARACTER SET sjis, f VARCHAR(20) CHARACTER SET gbk, g VARCHAR(20) CHARACTER SET big5, h VARCHAR(20) CHARACTER SET euckr, i VARCHAR(20) CHARACTER SET koi8r, j VARCHAR(20) CHARACTER SET latin2);
INSERT INTO t VALUES (1,'aé','a😀','a😀','жук','日本','中文','中文','한국','жук','łó'),(2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
UPDATE t SET d='ЖУК', a='b' WHERE id=1;

-- feature: connection-charset
-- about: Statements that a client sends in latin1, with names and defaults in it
SET NAMES latin1;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT 'x', w ENUM('a','b') CHARACTER SET latin1) COMMENT 'plain';
INSERT INTO t (id) VALUES (1);
SET NAMES utf8mb4;
ALTER TABLE t ADD COLUMN z VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT 'ä€', COMMENT 'ünï';
INSERT INTO t (id) VALUES (2);
SET NAMES utf8mb3;
ALTER TABLE t ADD COLUMN y VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT 'ß';
INSERT INTO t (id) VALUES (3);
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE VIEW w AS SELECT id, CONCAT(v,'é') AS x FROM t;

-- feature: database-charset
-- about: Databases with a character set of their own, altered later
CREATE DATABASE {db}__l CHARACTER SET latin1 COLLATE latin1_german1_ci;
CREATE TABLE {db}__l.t (id INT PRIMARY KEY, v VARCHAR(20));
USE {db}__l;
INSERT INTO t VALUES (1,'ä');
ALTER DATABASE {db}__l CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE u (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO u VALUES (1,'Ä'),(2,'€');
ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
INSERT INTO t VALUES (2,'€');
