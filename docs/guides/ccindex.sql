-- Has DuckDB take queries for Common Crawl's columnar index: run it where pages.parquet is, before them.
CREATE SCHEMA IF NOT EXISTS ccindex;
CREATE OR REPLACE VIEW ccindex.ccindex AS SELECT * FROM 'pages.parquet';

-- Functions of Athena that DuckDB has by another name, or not.
CREATE OR REPLACE MACRO cardinality(x) AS len(x);
CREATE OR REPLACE MACRO approx_distinct(x) AS approx_count_distinct(x);
CREATE OR REPLACE MACRO regexp_like(s, p) AS regexp_matches(s, p);
CREATE OR REPLACE MACRO url_extract_path(u) AS regexp_extract(u, '^[a-z]+://[^/?#]*([^?#]*)', 1);
CREATE OR REPLACE MACRO url_extract_host(u) AS regexp_extract(u, '^[a-z]+://([^/:?#]*)', 1);
CREATE OR REPLACE MACRO slice(l, b, n) AS list_slice(l, b, b + n - 1);
CREATE OR REPLACE MACRO levenshtein_distance(a, b) AS levenshtein(a, b);

-- Some queries leave the schema out.
CREATE OR REPLACE VIEW ccindex AS SELECT * FROM 'pages.parquet';
-- Some join a list of known sites. Fill it with one that you have.
CREATE TABLE IF NOT EXISTS ccindex.alexa_top_1m (rank BIGINT, site VARCHAR, domain VARCHAR);
