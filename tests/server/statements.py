# ruff: noqa: E501
"""Statements whose effect the DDL parser and real servers must agree on, cut into families."""

from __future__ import annotations

__all__ = ["BOTH", "MARIADB_ONLY", "MYSQL_ONLY"]

BOTH = r"""
create table ints (a tinyint, b smallint unsigned, c mediumint(5) zerofill, d int(11) not null, e bigint unsigned, f int1, g int8, h middleint, i integer, j bool, k boolean)
create table reals (a float, b double, c real, d double precision, e float(10), f float(30), g float4, h float8, i float(7,2) unsigned, j decimal, k dec(8), l numeric(8,3) unsigned, m fixed(5,1))
create table cut_numbers (a decimal(19.5), b decimal(0.2), c varchar(5.9), d int(3.2), e float(25.9), f bit(3.9), g char(0.9), h text(255.9), i varbinary(3.), j decimal(10,2))
create table lost_keys (a int, b int, c int, key k1 (b), key k2 (a, b), key k3 (c))
alter table lost_keys drop column b, drop index k1, drop column c, drop key k3
create table times (a date, b time, c time(3), d datetime, e datetime(6) not null default current_timestamp(6) on update current_timestamp(6), f timestamp null, g timestamp(2) not null default now(2), h year)
create table strings (a char, b char(5), c varchar(20), d character varying(7), e varchar(10) binary, f char(3) character set latin1 binary, g varchar(9) ascii, h varchar(9) collate utf8mb4_bin, i varchar(4) character set utf8 collate utf8_general_ci, j tinytext, k text, l text(100), m text(30000), n mediumtext, o longtext, p char(3) byte, q varchar(5) unicode)
create table national (a national char(3), b national varchar(5), c nchar(4), d nvarchar(6), e national character varying(3), f nchar varchar(2), g long varchar, h long, i long varbinary, j varchar(6) charset latin2)
create table bytes (a binary, b binary(16), c varbinary(7), d tinyblob, e blob, f blob(200), g blob(70000), h mediumblob, i longblob, j bit, k bit(17), l varchar(9) character set binary, m text character set binary, n enum('a') character set binary)
create table enums (a enum('a','b''c','d"e','f,g','h\\i','j\nk ') not null, b set('x','y y','(z)'), c enum("q","") collate utf8mb4_bin, d enum('é','ß') character set latin1)
create table js (id serial, doc json, geo geometry, p point not null, g geometrycollection, ls linestring, mp multipolygon, spatial key (p))
create table defaults_latin (a char(3), b varchar(5) character set utf8mb4, c text, d enum('a') collate latin1_bin) default charset=latin1
create table defaults_bin (a varchar(5), b varchar(5) character set latin1) character set utf8mb4 collate utf8mb4_bin comment 'x' engine=InnoDB
create table defaults_binary (a char(5), b text, c varchar(5) character set latin1, d enum('q')) charset binary
create table table_coll_only (a varchar(5), b varchar(6) binary) collate = latin1_german1_ci
create table quoted_names (`select` int, `a``b` int, `c.d` int, `e f` varchar(9), key `odd ``key` (`a``b`, `e f`(3)), unique (`select`))
create table `odd table; name` (a int primary key)
create table pk_column (a int auto_increment primary key, b int unique, c int unique key, d varchar(9) not null unique)
create table pk_key (a int key, b int, key(b), key(b), key b_3 (b), index(b), unique u (b, a))
create table pk_multi (a int, b varchar(9) null, c int not null default 3, constraint pk primary key using btree (a, c), constraint uq unique (b), unique key named (c, b desc))
create table pk_twice_named (a int not null, b int, constraint foo unique key bar (b), constraint `x y` unique (a), unique index (a,b), primary key named (b))
create table prefixes (a varchar(100), b text, c blob, d char(5), key (a(10)), key k2 (b(5), c(7) desc), unique (a(100)), unique u2 (d(5)), key k3 (d(2)), fulltext (b), fulltext key ft (a, b))
create table key_options (a int, b int, key x using btree (a) comment 'it''s, (ok)' , unique y (b) key_block_size=4, key z (a, b) using btree)
create table primary_name (`PRIMARY_2` int, `primary` int, unique (`primary`))
create table generated_columns (a int, b int generated always as (a + 1) virtual, c int as (a * (2 + 3)) stored, d varchar(20) as (concat('a),', a)), key (b), unique (c))
create table checks (a int check (a > 0), b int, constraint positive check (b > 0 and (a < 5 or b in (1,2))), check (a <> b))
create table parent (id int primary key, a int not null, b varchar(9), c int, unique ab (a, b), key (c))
create table child (id int primary key, p int, a int, b varchar(9), foreign key (p) references parent (id), constraint fk_ab foreign key fk_index (a, b) references parent (a, b) on delete cascade on update set null)
create table child_indexed (id int primary key, p int, q int, key mine (p, q), foreign key (p) references parent (id) on update cascade on delete set null, constraint named foreign key (q) references parent (id) on delete restrict on update no action)
create table child_later_key (p int, q int, constraint cq foreign key (q) references parent(id), key late (q, p), foreign key (p) references parent(id), foreign key idx_named (p, q) references child_indexed(p, q))
create table child_pk (p int primary key, foreign key (p) references parent(id))
create table self_reference (id int primary key, up int, foreign key (up) references self_reference (id) on delete cascade)
create table partitioned (id int not null, b int, primary key (id)) engine=innodb partition by range (id) (partition p0 values less than (10) comment 'as select', partition p1 values less than (15))
create table options_all (a int) engine innodb auto_increment=5 avg_row_length 10 checksum=1 comment='select' max_rows=5 min_rows 1 pack_keys=default row_format=dynamic stats_persistent=1 stats_auto_recalc default stats_sample_pages=9 delay_key_write 0
create table copied like prefixes
create table copied_child (like child)
create table if not exists copied like parent
create table memory_table (a int, b varchar(5), p int, foreign key (p) references parent (id), key (b)) engine=memory
create table commented /* a ( comment */ (a int -- to the end
 , b int # also
 , /*!40101 c int, */ /*!99999 nothing here */ d int)
create table defaults_odd (a int default -5, b varchar(30) default 'it''s, ok', c char(3) default _latin1'abc', d bit(3) default b'101', e varbinary(4) default x'4142', f datetime default '2020-01-01 00:00:00', g int default (1+(2)), h double default 1e5, i int default null, j varchar(5) not null default "a\"b")
create table alt (a int, b varchar(20), c text, d int)
alter table alt add e int not null after a, add column f int first, add (g int, h varchar(9) unique, key (g)), add primary key (a)
alter table alt modify b varchar(40) character set latin1 not null, change c cc text collate utf8mb4_bin first
alter table alt rename column d to dd, rename index g to gg, add unique index (dd), add fulltext key (cc)
alter table alt drop column f, drop key gg, drop primary key, add constraint pk primary key (a, dd)
alter table alt alter column e set default 7, alter h drop default, comment 'changed', engine=innodb
alter table alt add column z int, add column y int after z, add key zy (z, y)
alter table alt change y yy int, change a aa int
alter table alt drop column z
alter table alt default character set latin1
alter table alt add n1 varchar(5), add n2 varchar(5) character set utf8mb4
alter table alt convert to character set utf8mb4 collate utf8mb4_general_ci
alter table alt rename to alt2, add last_one int
create table introduced (a varchar(5) not null default _utf8mb4 x'C3A9', b varchar(5) default _latin1 0xE9, c varbinary(5) default _binary b'01000001', d varchar(5) default N'a', e varchar(5) default n'b', f varchar(9) default _latin1'a' 'b')
create table coded_labels (a enum(0xE4, '1', '2') charset latin1, b enum(x'41', b'01000010', 0b01000011, 'd'), c set(0x6162, X'63'))
alter table coded_labels modify b enum(x'41', b'01000010', 0b01000011, 'd', 0x65)
create table literals (a bool default false, b bit(3) default b'101', c int default 0x10, d int default +5, e float(7,2) default 1e1, f double(9,3) unsigned, g date default '2024-02-29', h int default (((-5))))
alter table alt2 rename column n1 to n2, rename column n2 to n1
create table widths (a tinytext, b text, c mediumtext, d char(5), e varchar(100), f enum('a'), g blob, h varbinary(9)) charset latin1
alter table widths convert to character set utf8mb4
alter table widths convert to character set default
create table conversions (a varchar(9), b text)
alter table conversions convert to character set latin1, collate latin1_bin, add column c varchar(3)
alter table conversions add column d varchar(3)
alter table conversions collate latin1_german1_ci, convert to character set latin1, add column e varchar(3)
alter table conversions add column f varchar(3)
create index i1 on alt2 (n1(2))
create unique index i2 using btree on alt2 (n2 desc, dd)
create fulltext index i3 on alt2 (b)
drop index i3 on alt2
drop index i1 on alt2
alter table child drop foreign key fk_ab, drop key fk_ab
alter table child add constraint fk_new foreign key (a) references parent (c), add key covering (a, id)
alter table child_indexed add key only_q (q)
alter table parent change id identity int, rename column b to bb
rename table parent to parent2
rename table ints to swap_tmp, reals to ints, swap_tmp to reals
alter table self_reference rename self_renamed
create table child_of_renamed (id int, foreign key (id) references parent2 (identity))
alter table partitioned add partition (partition p2 values less than (20))
alter table partitioned truncate partition p0
alter table partitioned remove partitioning
alter table alt2 add column q1 timestamp, add q2 timestamp null, add q3 int unsigned auto_increment unique
alter table alt2 drop primary key
alter table alt2 order by b
alter table alt2 force, algorithm=copy, lock=shared
truncate table alt2
truncate alt2
create view v as select * from alt2
create or replace view v as select a from child
drop view v
drop table if exists nowhere, options_all, `odd table; name`
analyze table alt2
optimize table alt2
create temporary table temp_one (a int)
drop temporary table temp_one
alter table alt2 add constraint ck check (e > 0)
alter table alt2 drop constraint ck
create table after_all (a int not null primary key, b int not null, unique (b)) /* trailing */ ;
create table again (a int not null, c int not null, primary key (c), key ac (a, c), key ca (c, a))
alter table again drop column c, add column c int unsigned not null
alter table again add column A int first, drop column a, drop key ca
"""

MYSQL_ONLY = r"""
create table functional (a int, b varchar(20), key ((a + 1)), unique ((lower(b)), a), key named ((a * 2) desc, b(3)), key ((a + 3)))
create table invisible_parts (a int, b int invisible, key k (a) invisible, unique u (b) visible)
create table vectors (a vector(5), b vector)
create table multi_valued (id int primary key, doc json, key tags ((cast(doc->'$.tags' as unsigned array))))
create table inline_parent (id int primary key)
create table inline_references (a int references inline_parent (id), b int references inline_parent)
create table srid (p point not null srid 4326, spatial index (p))
create table not_enforced (a int check (a > 0) not enforced, constraint c check (a > 1) not enforced)
alter table functional add column c int invisible, add column d int default (a + 5), alter index named invisible
alter table functional alter column c set visible, drop key functional_index_2
alter table not_enforced alter check c enforced
alter table not_enforced drop check c
create table drop_parts (a int, b int, c int, key ab (a, b), unique abc (a, b, c))
alter table drop_parts drop column b
alter table drop_parts drop column a, drop column c, add column d int
create table attributes (a int comment 'x', key (a)) secondary_engine_attribute='{}'
create table constraint_drop (a int primary key, b int, c int, constraint u unique (b), constraint f foreign key (c) references constraint_drop (a))
alter table constraint_drop drop constraint u, drop constraint f
create table geo_types (a geomcollection, b geometry not null srid 0, c multipoint, d polygon)
"""

MARIADB_ONLY = r"""
create table q (id int primary key, c varchar(10), d int)
alter table q modify column q.c varchar(500)
alter table q add column d_schema.q.r int after c, add key kr (r, d)
alter table q change q.d q.dd bigint
alter table q alter column q.dd set default 5
alter table q drop d_schema.q.r, add unique (c(5))
create index kd on q (dd)
create or replace table replaced (a int)
create or replace table replaced (a int, b int unique)
create table if not exists replaced (zzz int)
create table new_types (a uuid, b inet6, c inet4)
create table invisibles (a int, b int invisible default 5, key k (a) ignored)
create table long_unique (a text, b blob, unique (a), unique ub (b))
create table inline_parent (id int primary key)
create table inline_references (a int references inline_parent (id) on delete cascade, b int references inline_parent (id))
create table compressed (a text compressed, b varchar(500) compressed=zlib, c blob compressed) page_compressed=1
create table persistent_columns (a int, b int as (a + 1) persistent, c int default (a + 1), d varchar(40) default uuid())
create table aria_table (a int primary key, b int references inline_parent (id)) engine=aria transactional=1
create table mysql_comment (a int /*!50701 , b int */ /*M!100100 , c int */ /*!100100 , d int */)
alter table replaced add column if not exists b int, add column if not exists c int after a, drop column if exists nope, add index if not exists b (b)
alter table if exists nope add a int
alter table replaced drop index if exists nope, modify column if exists nope int, rename column c to cc
create index if not exists b on replaced (a)
drop index if exists nope on replaced
alter table invisibles add unique key if not exists uk (b)
alter table replaced convert to character set utf8mb4 collate uca1400_ai_ci
create table converted (a varchar(9)) charset utf8mb4
alter table converted add column d varchar(3), convert to character set latin1, default charset utf8mb4 collate utf8mb4_unicode_ci
alter table converted add column e varchar(3)
alter table converted default charset latin2, convert to character set latin1 collate latin1_bin, add column f varchar(3)
alter table converted add column g varchar(3)
create table uca (a varchar(5), b varchar(5) collate utf8mb4_uca1400_as_ci, c varchar(4) character set utf8mb3 collate uca1400_ai_ci) charset utf8mb4 collate uca1400_nopad_ai_ci
set statement lock_wait_timeout=5 for create table from_set (a int primary key)
"""
