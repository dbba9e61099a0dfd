-- feature: fk-plain
-- about: Foreign keys between tables, with changes of both sides
CREATE TABLE p (id INT PRIMARY KEY, v INT);
CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id));
INSERT INTO p VALUES (1,1),(2,2),(3,3);
INSERT INTO c VALUES (1,1),(2,2),(3,NULL);
UPDATE c SET p=3 WHERE id=1;
DELETE FROM p WHERE id=1;
UPDATE p SET v=9;
BEGIN;
INSERT INTO p VALUES (4,4);
INSERT INTO c VALUES (4,4);
COMMIT;
-- fails
INSERT INTO c VALUES (9,99);
ALTER TABLE c DROP FOREIGN KEY f;
INSERT INTO c VALUES (10,100);

-- feature: fk-cascade
-- about: ON DELETE CASCADE and ON UPDATE CASCADE over three generations
-- refused: postgresql from mariadb cascade
CREATE TABLE a (id INT PRIMARY KEY);
CREATE TABLE b (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE c (id INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE);
INSERT INTO a VALUES (1),(2),(3);
INSERT INTO b VALUES (1,1),(2,1),(3,2),(4,3);
INSERT INTO c VALUES (1,1),(2,2),(3,3),(4,4);
DELETE FROM a WHERE id=1;
UPDATE a SET id=20 WHERE id=2;
INSERT INTO b VALUES (9,20);
DELETE FROM b WHERE id=4;

-- feature: fk-set-null
-- about: ON DELETE SET NULL and ON UPDATE SET NULL
-- refused: postgresql from mariadb cascade
CREATE TABLE p (id INT PRIMARY KEY);
CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL);
INSERT INTO p VALUES (1),(2);
INSERT INTO c VALUES (1,1),(2,2),(3,2);
DELETE FROM p WHERE id=1;
UPDATE p SET id=5 WHERE id=2;
UPDATE c SET p=5 WHERE id=3;

-- feature: fk-self
-- about: A table that refers to itself, and two that refer to each other
CREATE TABLE t (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES t (id));
INSERT INTO t VALUES (1,NULL),(2,1),(3,2);
UPDATE t SET up=1 WHERE id=3;
DELETE FROM t WHERE id=2;
CREATE TABLE x (id INT PRIMARY KEY, y INT);
CREATE TABLE y (id INT PRIMARY KEY, x INT, FOREIGN KEY (x) REFERENCES x (id));
ALTER TABLE x ADD FOREIGN KEY (y) REFERENCES y (id);
INSERT INTO x VALUES (1,NULL);
INSERT INTO y VALUES (1,1);
UPDATE x SET y=1;

-- feature: fk-checks-off
-- about: foreign_key_checks=0, with rows whose parents come later or never
CREATE TABLE p (id INT PRIMARY KEY);
CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id));
SET foreign_key_checks=0;
INSERT INTO c VALUES (1,1),(2,99);
INSERT INTO p VALUES (1);
CREATE TABLE d (id INT PRIMARY KEY, x INT, FOREIGN KEY (x) REFERENCES later (id));
INSERT INTO d VALUES (1,1);
CREATE TABLE later (id INT PRIMARY KEY);
INSERT INTO later VALUES (1);
SET foreign_key_checks=1;
INSERT INTO d VALUES (2,1);

-- feature: fk-replace
-- about: REPLACE of a parent's row under ON DELETE CASCADE
-- refused: postgresql from mariadb cascade
CREATE TABLE p (id INT PRIMARY KEY, v INT);
CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE);
INSERT INTO p VALUES (1,1),(2,2);
INSERT INTO c VALUES (1,1),(2,2);
REPLACE INTO p VALUES (1,100);
INSERT INTO c VALUES (3,1);

-- feature: fk-multi-delete
-- about: Parent and child deleted by one statement
-- refused: postgresql from mariadb cascade
CREATE TABLE p (id INT PRIMARY KEY, v INT);
CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE);
INSERT INTO p VALUES (1,1),(2,2),(3,3);
INSERT INTO c VALUES (1,1),(2,2),(3,3);
DELETE p, c FROM p JOIN c ON c.p=p.id WHERE p.id=1;
DELETE c, p FROM p JOIN c ON c.p=p.id WHERE p.id=2;

-- feature: fk-composite
-- about: Composite foreign keys, to unique keys, in other collations and databases
CREATE DATABASE {db}__p;
CREATE TABLE {db}__p.p (a INT, b VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, v INT, UNIQUE KEY (a,b));
CREATE TABLE c (id INT PRIMARY KEY, a INT, b VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, FOREIGN KEY (a,b) REFERENCES {db}__p.p (a,b) ON UPDATE RESTRICT);
INSERT INTO {db}__p.p VALUES (1,'x',1),(1,'y',2),(NULL,'z',3);
INSERT INTO c VALUES (1,1,'X'),(2,1,NULL);
UPDATE {db}__p.p SET b='w' WHERE b='y';
DELETE FROM c WHERE id=1;
DELETE FROM {db}__p.p WHERE b='x';
