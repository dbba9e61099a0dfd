-- feature: integers
-- about: Integers of all sizes with their smallest and largest values
CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, b SMALLINT, c MEDIUMINT, d INT, e BIGINT, f TINYINT UNSIGNED, g SMALLINT UNSIGNED, h MEDIUMINT UNSIGNED, i INT UNSIGNED, j BIGINT UNSIGNED, k BOOL);
INSERT INTO t VALUES (1,-128,-32768,-8388608,-2147483648,-9223372036854775808,0,0,0,0,0,FALSE),(2,127,32767,8388607,2147483647,9223372036854775807,255,65535,16777215,4294967295,18446744073709551615,TRUE),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(4,-1,-1,-1,-1,-1,128,32768,8388608,2147483648,9223372036854775808,2);
UPDATE t SET e=e-1, j=j-1, a=-a WHERE id=2;
DELETE FROM t WHERE id=3;

-- feature: zerofill
-- about: Display widths, ZEROFILL and SERIAL
CREATE TABLE t (id SERIAL, a INT(5) ZEROFILL, b TINYINT(1), c BIGINT(20) UNSIGNED ZEROFILL, d DECIMAL(8,2) ZEROFILL, e FLOAT UNSIGNED, PRIMARY KEY (id));
INSERT INTO t (a,b,c,d,e) VALUES (7,1,42,3.5,1.5),(123456,0,18446744073709551615,0,0);
UPDATE t SET a=8, d=9.99 WHERE id=1;

-- feature: decimals
-- about: DECIMAL of all widths, to 65 digits
CREATE TABLE t (id INT PRIMARY KEY, a DECIMAL(65,0), b DECIMAL(65,30), c DECIMAL(1,0), d DECIMAL(5,5), e NUMERIC(18,9), f DECIMAL, g DECIMAL(10,2) UNSIGNED, h DECIMAL(38,30));
INSERT INTO t VALUES (1,99999999999999999999999999999999999999999999999999999999999999999,-99999999999999999999999999999999999.999999999999999999999999999999,-9,-0.99999,123456789.123456789,1234567890,99999999.99,0.000000000000000000000000000001),(2,-1,0.000000000000000000000000000001,0,0,-0.000000001,-1,0,-0.5),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
UPDATE t SET b=-b, e=e*2 WHERE id<3;

-- feature: floats
-- about: FLOAT and DOUBLE with their limits, and keys on them
CREATE TABLE t (id INT PRIMARY KEY, f FLOAT, d DOUBLE, g FLOAT(7,3), h DOUBLE(12,4), KEY (d));
INSERT INTO t VALUES (1,3.402823466E38,1.7976931348623157E308,1234.567,12345678.9012),(2,1.17549435E-38,2.2250738585072014E-308,-0.001,0),(3,-0.0,-0.0,0,0),(4,0.1,0.1,0.1,0.1),(5,1e-45,5e-324,NULL,NULL),(6,16777217,9007199254740993,NULL,NULL);
UPDATE t SET d=d/3, f=f/3 WHERE id IN (1,4,6);
DELETE FROM t WHERE d=-0.0;

-- feature: bits
-- about: BIT of one to 64 bits
CREATE TABLE t (id INT PRIMARY KEY, a BIT(1), b BIT(8), c BIT(9), d BIT(64), e BIT(33) NOT NULL DEFAULT b'1');
INSERT INTO t VALUES (1,b'1',b'11111111',b'100000001',~0,b'0'),(2,0,0,0,0,1),(3,NULL,NULL,NULL,NULL,DEFAULT);
UPDATE t SET c=b'011111110', d=1 WHERE id=1;

-- feature: dates
-- about: DATE, DATETIME and TIME of all precisions with edge values
CREATE TABLE t (id INT PRIMARY KEY, d DATE, a DATETIME, b DATETIME(3), c DATETIME(6), t0 TIME, t3 TIME(3), t6 TIME(6), y YEAR);
INSERT INTO t VALUES (1,'1000-01-01','1000-01-01 00:00:00','9999-12-31 23:59:59.999','9999-12-31 23:59:59.999999','838:59:59','-838:59:59.000','-00:00:00.000001',1901),(2,'9999-12-31','2024-02-29 23:59:59','2024-02-29 01:02:03.004','2024-02-29 01:02:03.000004','-838:59:59','00:00:00.001','24:00:00.5',2155),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(4,'0001-01-01','0001-01-01 00:00:00','1970-01-01 00:00:00.5','1969-12-31 23:59:59.999999','00:00:00','12:34:56.789','12:34:56.789012',2000);
UPDATE t SET t6='-01:00:00.5', c='2000-01-01 00:00:00.1' WHERE id=4;

-- feature: zero-year
-- about: The zero year
CREATE TABLE t (id INT PRIMARY KEY, y YEAR);
INSERT INTO t VALUES (1,0),(2,'0'),(3,1),(4,69);

-- feature: zero-dates
-- about: Dates with zero parts, which only a lenient sql_mode takes
-- refused: postgresql zero-date
SET sql_mode='ALLOW_INVALID_DATES';
CREATE TABLE t (id INT PRIMARY KEY, d DATE NOT NULL DEFAULT '0000-00-00', a DATETIME, s TIMESTAMP NULL);
INSERT INTO t VALUES (1,'0000-00-00','0000-00-00 00:00:00','0000-00-00 00:00:00'),(2,'2024-00-00','2024-02-31 00:00:00',NULL);
INSERT INTO t (id) VALUES (3);

-- feature: timestamps
-- about: TIMESTAMP of all precisions in several time zones, and automatic values
SET time_zone='+05:30';
CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP NULL, b TIMESTAMP(3) NULL, c TIMESTAMP(6) NULL, d TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, e DATETIME(2) DEFAULT CURRENT_TIMESTAMP(2) ON UPDATE CURRENT_TIMESTAMP(2));
INSERT INTO t (id,a,b,c) VALUES (1,'1970-01-01 05:30:01','1970-01-01 05:30:01.001','2038-01-19 08:44:07.999999'),(2,NULL,NULL,NULL);
SET timestamp=1234567890.123456;
INSERT INTO t (id,a) VALUES (3,NOW()),(4,'2009-02-14 05:01:30');
SET time_zone='-11:00';
UPDATE t SET a='2001-09-08 14:46:40', b=NOW(3) WHERE id=3;

-- feature: timestamps-to-2106
-- about: TIMESTAMP beyond 2038, which MariaDB takes from 11.5 on
-- only: mariadb 11.5
-- refused: mariadb <11.5 from mariadb 11.5 late-timestamp
SET time_zone='+00:00';
CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP NULL, b TIMESTAMP(6) NULL);
INSERT INTO t VALUES (1,'2038-01-19 03:14:08','2106-02-07 06:28:15.999999'),(2,'2100-01-01 00:00:00','1970-01-01 00:00:01');
UPDATE t SET a='2106-02-07 06:28:14' WHERE id=1;

-- feature: old-temporals
-- about: Temporal columns in the form from before MariaDB 10.1.2
-- only: mariadb
SET GLOBAL mysql56_temporal_format=OFF;
CREATE TABLE t (id INT PRIMARY KEY, a DATETIME, b TIMESTAMP NULL, c TIME);
INSERT INTO t VALUES (1,'2024-02-29 23:59:59','2024-02-29 23:59:59','838:59:59'),(2,NULL,NULL,NULL),(3,'1000-01-01','1970-01-02','-00:00:01');
UPDATE t SET a='2001-01-01 00:00:00' WHERE id=1;
SET GLOBAL mysql56_temporal_format=DEFAULT;

-- feature: old-fractions
-- about: Temporal columns with fractions in the form from before MariaDB 10.1.2
-- only: mariadb
SET GLOBAL mysql56_temporal_format=OFF;
CREATE TABLE t (id INT PRIMARY KEY, a DATETIME(1), b TIMESTAMP(3) NULL, c TIME(6), d TIMESTAMP(6) NULL, e DATETIME(6), f TIME(2));
INSERT INTO t VALUES (1,'2024-02-29 23:59:59.5','2024-02-29 23:59:59.123','-00:00:00.000001','2038-01-19 03:14:07.999999','9999-12-31 23:59:59.999999','-838:59:59.99'),(2,NULL,NULL,NULL,NULL,NULL,NULL);
UPDATE t SET a='2001-01-01 00:00:00.9', c='12:00:00.5' WHERE id=1;
SET GLOBAL mysql56_temporal_format=DEFAULT;

-- feature: chars
-- about: CHAR and VARCHAR of all lengths, spaces at the end, all planes of Unicode
CREATE TABLE t (id INT PRIMARY KEY, a CHAR(1), b CHAR(255), c VARCHAR(10), d VARCHAR(255), e VARCHAR(256), f VARCHAR(4000), g CHAR(0), h VARCHAR(0)) CHARACTER SET utf8mb4;
INSERT INTO t VALUES (1,'é',REPEAT('€',255),'a  ','','x',REPEAT('😀',1000),'',''),(2,' ','  lead','t\tn\nq''"\\',REPEAT('y',255),REPEAT('z',256),REPEAT('w',4000),NULL,NULL),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
UPDATE t SET c='ß', f='' WHERE id=2;

-- feature: nul-in-text
-- about: Text with a NUL character
-- refused: postgresql nul-character
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), b TEXT);
INSERT INTO t VALUES (1,'a\0b','\0'),(2,'\Z\b','plain');

-- feature: binaries
-- about: BINARY, VARBINARY and BLOB of all bytes
CREATE TABLE t (id INT PRIMARY KEY, a BINARY(1), b BINARY(255), c VARBINARY(10), d VARBINARY(300), e TINYBLOB, f BLOB, g MEDIUMBLOB, h LONGBLOB);
INSERT INTO t VALUES (1,'\0',0x00FF00FF,0x0D0A1A5C2722,REPEAT(0xFE,300),'',REPEAT(0x00,300),REPEAT(0xFF,70000),'x'),(2,'a','abc  ',' ','','z','','',''),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
UPDATE t SET b=0x01, f='changed' WHERE id=1;

-- feature: binary-zero
-- about: BINARY(0), CHAR(0) and BIT in one row
CREATE TABLE t (id INT PRIMARY KEY, a BINARY(0), b VARBINARY(0), c CHAR(0) NOT NULL);
INSERT INTO t VALUES (1,'','',''),(2,NULL,NULL,'');
UPDATE t SET a=NULL WHERE id=1;

-- feature: texts
-- about: TEXT of all sizes, up to a megabyte
CREATE TABLE t (id INT PRIMARY KEY, a TINYTEXT, b TEXT, c MEDIUMTEXT, d LONGTEXT);
INSERT INTO t VALUES (1,'','','',''),(2,REPEAT('a',255),REPEAT('ü',30000),REPEAT('m',70000),REPEAT('long ',210000)),(3,NULL,NULL,NULL,NULL);
UPDATE t SET d=CONCAT('x',d) WHERE id=2;
UPDATE t SET b='short' WHERE id=2;

-- feature: enums
-- about: ENUM and SET, with labels of other scripts, and numbers as labels
CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a','b','c''d','é','') CHARACTER SET utf8mb4, n ENUM('2','1','0'), s SET('x','y','z','ü') CHARACTER SET utf8mb4);
INSERT INTO t VALUES (1,'a','1','x,z'),(2,'c''d','2',''),(3,'é','0','ü,x,y,z'),(4,'',3,NULL),(5,NULL,NULL,'y');
UPDATE t SET s='z,y', e='b' WHERE id=1;

-- feature: enum-error-value
-- about: The error value of an ENUM beside a label that is the empty string
-- refused: postgresql enum-error-value
SET sql_mode='';
CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a',''));
INSERT INTO t VALUES (1,'a'),(2,''),(3,'nonsense');

-- feature: enum-of-300
-- about: An ENUM of more than 255 labels and a SET of 64
CREATE TABLE t (id INT PRIMARY KEY, e ENUM('l000','l001','l002','l003','l004','l005','l006','l007','l008','l009','l010','l011','l012','l013','l014','l015','l016','l017','l018','l019','l020','l021','l022','l023','l024','l025','l026','l027','l028','l029','l030','l031','l032','l033','l034','l035','l036','l037','l038','l039','l040','l041','l042','l043','l044','l045','l046','l047','l048','l049','l050','l051','l052','l053','l054','l055','l056','l057','l058','l059','l060','l061','l062','l063','l064','l065','l066','l067','l068','l069','l070','l071','l072','l073','l074','l075','l076','l077','l078','l079','l080','l081','l082','l083','l084','l085','l086','l087','l088','l089','l090','l091','l092','l093','l094','l095','l096','l097','l098','l099','l100','l101','l102','l103','l104','l105','l106','l107','l108','l109','l110','l111','l112','l113','l114','l115','l116','l117','l118','l119','l120','l121','l122','l123','l124','l125','l126','l127','l128','l129','l130','l131','l132','l133','l134','l135','l136','l137','l138','l139','l140','l141','l142','l143','l144','l145','l146','l147','l148','l149','l150','l151','l152','l153','l154','l155','l156','l157','l158','l159','l160','l161','l162','l163','l164','l165','l166','l167','l168','l169','l170','l171','l172','l173','l174','l175','l176','l177','l178','l179','l180','l181','l182','l183','l184','l185','l186','l187','l188','l189','l190','l191','l192','l193','l194','l195','l196','l197','l198','l199','l200','l201','l202','l203','l204','l205','l206','l207','l208','l209','l210','l211','l212','l213','l214','l215','l216','l217','l218','l219','l220','l221','l222','l223','l224','l225','l226','l227','l228','l229','l230','l231','l232','l233','l234','l235','l236','l237','l238','l239','l240','l241','l242','l243','l244','l245','l246','l247','l248','l249','l250','l251','l252','l253','l254','l255','l256','l257','l258','l259'), s SET('a0','a1','a2','a3','a4','a5','a6','a7','a8','a9','b0','b1','b2','b3','b4','b5','b6','b7','b8','b9','c0','c1','c2','c3','c4','c5','c6','c7','c8','c9','d0','d1','d2','d3','d4','d5','d6','d7','d8','d9','e0','e1','e2','e3','e4','e5','e6','e7','e8','e9','f0','f1','f2','f3','f4','f5','f6','f7','f8','f9','g0','g1','g2','g3'));
INSERT INTO t VALUES (1,'l255','g3'),(2,'l256','a0,g3'),(3,'l259','d1,e1');

-- feature: json
-- about: JSON documents of all kinds
-- only: mysql
CREATE TABLE t (id INT PRIMARY KEY, j JSON);
INSERT INTO t VALUES (1,'{"a": 1, "b": [true, false, null, 1.5, -1e300, "täxt", {}], "": ""}'),(2,'[]'),(3,'null'),(4,'"s"'),(5,'18446744073709551615'),(6,NULL),(7,JSON_OBJECT('d', CAST('2024-02-29' AS DATE), 't', CAST('12:00:00.5' AS TIME(6)), 'n', CAST(1.10 AS DECIMAL(10,2)), 'b', x'00FF')),(8,JSON_ARRAY(REPEAT('x',70000)));
UPDATE t SET j=JSON_SET(j,'$.a',2,'$.c',JSON_ARRAY(1,2)) WHERE id=1;
UPDATE t SET j=JSON_REMOVE(j,'$.b') WHERE id=1;

-- feature: json-partial
-- about: Updates of JSON columns that are logged in part
-- only: mysql
CREATE TABLE t (id INT PRIMARY KEY, j JSON, k JSON);
INSERT INTO t VALUES (1,'{"a": "0123456789", "b": {"c": [1,2,3]}}','{"x": 1}'),(2,'[1,2,3,4]',NULL);
SET binlog_row_value_options='PARTIAL_JSON';
UPDATE t SET j=JSON_SET(j,'$.a','98765') WHERE id=1;
UPDATE t SET j=JSON_REPLACE(j,'$.b.c[1]',9), k=JSON_REMOVE(k,'$.x') WHERE id=1;
UPDATE t SET j=JSON_REMOVE(j,'$[0]') WHERE id=2;
UPDATE t SET j='{"new": true}' WHERE id=2;

-- feature: json-text
-- about: MariaDB's JSON, which is LONGTEXT with a check
-- only: mariadb
CREATE TABLE t (id INT PRIMARY KEY, j JSON, k JSON NOT NULL DEFAULT '{}');
INSERT INTO t (id,j) VALUES (1,'{"a": 1,  "a": 2}'),(2,'[1, 2]'),(3,NULL);
UPDATE t SET j=JSON_SET(j,'$.b','ä') WHERE id=1;

-- feature: geometry
-- about: Spatial types with and without reference systems
-- refused: postgresql type
CREATE TABLE t (id INT PRIMARY KEY, g GEOMETRY, p POINT, l LINESTRING, o POLYGON, m MULTIPOINT, c GEOMETRYCOLLECTION);
INSERT INTO t VALUES (1,ST_GeomFromText('POINT(1 2)'),ST_GeomFromText('POINT(1.5 -2)',0),ST_GeomFromText('LINESTRING(0 0,1 1,2 0)'),ST_GeomFromText('POLYGON((0 0,0 3,3 3,0 0))'),ST_GeomFromText('MULTIPOINT(1 1,2 2)'),ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))')),(2,NULL,NULL,NULL,NULL,NULL,NULL);
UPDATE t SET p=ST_GeomFromText('POINT(9 9)') WHERE id=1;

-- feature: vector
-- about: VECTOR columns
-- only: mysql, mariadb 11.7
-- refused: older older-definition
-- refused: postgresql type
CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(3) NOT NULL);
-- if: mysql
INSERT INTO t VALUES (1,TO_VECTOR('[1,2,3]')),(2,TO_VECTOR('[0.1,-0.2,1000.5]'));
-- if: mariadb
INSERT INTO t VALUES (1,VEC_FromText('[1,2,3]')),(2,VEC_FromText('[0.1,-0.2,1000.5]'));
DELETE FROM t WHERE id=1;

-- feature: vector-index
-- about: VECTOR columns with an index
-- only: mariadb 11.7
-- refused: older older-definition
-- refused: postgresql type
CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(2) NOT NULL, VECTOR INDEX (v));
INSERT INTO t VALUES (1,VEC_FromText('[1,2]')),(2,VEC_FromText('[3,4]'));
UPDATE t SET v=VEC_FromText('[5,6]') WHERE id=2;
DELETE FROM t WHERE id=1;

-- feature: uuid
-- about: UUID columns, as keys too
-- only: mariadb 10.7
-- refused: mariadb <10.7 older-definition
CREATE TABLE t (id UUID PRIMARY KEY, u UUID, n INT, UNIQUE (u));
INSERT INTO t VALUES ('123e4567-e89b-12d3-a456-426655440000','ffffffff-ffff-ffff-ffff-ffffffffffff',1),('00000000-0000-0000-0000-000000000000',NULL,2),('01890000-0000-7000-8000-000000000001','123E4567E89B42D3A456426655440000',3);
UPDATE t SET n=n+1, u='123e4567-e89b-12d3-a456-426655440001' WHERE n=3;
DELETE FROM t WHERE n=2;

-- feature: inet6
-- about: INET6 columns, as keys too
-- only: mariadb 10.5
CREATE TABLE t (id INET6 PRIMARY KEY, a INET6, n INT);
INSERT INTO t VALUES ('::',NULL,1),('2001:db8::ff00:42:8329','::ffff:192.0.2.1',2),('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff','::1',3);
UPDATE t SET a='fe80::1' WHERE n=1;
DELETE FROM t WHERE n=3;

-- feature: inet4
-- about: INET4 columns, as keys too
-- only: mariadb 10.10
-- refused: mariadb <10.10 older-definition
CREATE TABLE t (id INET4 PRIMARY KEY, a INET4, n INT);
INSERT INTO t VALUES ('0.0.0.0',NULL,1),('192.168.0.1','255.255.255.255',2),('10.0.0.1','1.2.3.4',3);
UPDATE t SET a='127.0.0.1' WHERE n=1;
DELETE FROM t WHERE n=3;

-- feature: compressed-columns
-- about: Columns that MariaDB stores compressed
-- only: mariadb
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(500) COMPRESSED, b TEXT COMPRESSED, c BLOB COMPRESSED, d VARBINARY(200) COMPRESSED=zlib);
INSERT INTO t VALUES (1,REPEAT('ab',200),REPEAT('text ',1000),REPEAT(0x00FF,2000),'short'),(2,'','',NULL,NULL);
UPDATE t SET b=CONCAT(b,'!'), a='x' WHERE id=1;

-- feature: many-columns
-- about: Seventy columns, most of them NULL
CREATE TABLE t (id INT PRIMARY KEY, c01 INT, c02 INT, c03 INT, c04 INT, c05 INT, c06 INT, c07 INT, c08 INT, c09 INT, c10 INT, c11 INT, c12 INT, c13 INT, c14 INT, c15 INT, c16 INT, c17 INT, c18 INT, c19 INT, c20 INT, c21 INT, c22 INT, c23 INT, c24 INT, c25 INT, c26 INT, c27 INT, c28 INT, c29 INT, c30 INT, c31 VARCHAR(9), c32 VARCHAR(9), c33 VARCHAR(9), c34 VARCHAR(9), c35 VARCHAR(9), c36 VARCHAR(9), c37 VARCHAR(9), c38 VARCHAR(9), c39 VARCHAR(9), c40 VARCHAR(9), c41 DATE, c42 DATE, c43 DATE, c44 DATE, c45 DATE, c46 BIT(3), c47 BIT(4), c48 BIT(5), c49 BIT(6), c50 BIT(7), c51 DOUBLE, c52 DOUBLE, c53 DOUBLE, c54 DOUBLE, c55 DOUBLE, c56 TIME, c57 TIME, c58 TIME, c59 TIME, c60 TIME, c61 INT, c62 INT, c63 INT, c64 INT, c65 INT, c66 INT, c67 INT, c68 INT, c69 INT);
INSERT INTO t (id,c08,c33,c46,c69) VALUES (1,8,'x',b'101',69);
INSERT INTO t (id) VALUES (2);
UPDATE t SET c64=64, c08=NULL WHERE id=1;
UPDATE t SET c16=1, c17=1, c60='01:02:03' WHERE id=2;

-- feature: long-names
-- about: Names of 64 characters and of other scripts
-- refused: postgresql long-name
CREATE TABLE `t_12345678901234567890123456789012345678901234567890123456789012` (`c_12345678901234567890123456789012345678901234567890123456789012` INT PRIMARY KEY, v INT);
INSERT INTO `t_12345678901234567890123456789012345678901234567890123456789012` VALUES (1,1);
CREATE TABLE `дата и время` (`ключ` INT PRIMARY KEY, `a b``c"d` INT, `select` INT);
INSERT INTO `дата и время` VALUES (1,2,3);

-- feature: odd-names
-- about: Names with spaces, quotes, reserved words and capital letters
CREATE TABLE `Select` (`Key` INT PRIMARY KEY, `a b``c"d` INT, `дата` INT, `$x` INT, `1e5` INT);
INSERT INTO `Select` VALUES (1,2,3,4,5),(2,NULL,NULL,NULL,NULL);
UPDATE `Select` SET `дата`=7 WHERE `Key`=1;
ALTER TABLE `Select` ADD COLUMN `neu ä` INT, RENAME COLUMN `$x` TO `x%s`;
INSERT INTO `Select` VALUES (3,1,2,3,4,5);
