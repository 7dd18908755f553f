package postgres

// format is the number of the schema that this version writes.
const format = 1

// schemaSQL makes the tables of a crawl in its own schema, which is the search path. Times are microseconds of the
// server's clock.
const schemaSQL = `
CREATE TABLE crawl(one bool PRIMARY KEY DEFAULT true CHECK(one), format int NOT NULL, id uuid NOT NULL DEFAULT gen_random_uuid(),
  secret bytea NOT NULL, settings bytea NOT NULL, run bigint NOT NULL DEFAULT 0,
  whole bool NOT NULL DEFAULT false);
CREATE TABLE member(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, dir uuid NOT NULL, name text NOT NULL, place text NOT NULL,
  state smallint NOT NULL DEFAULT 0, beat bigint NOT NULL DEFAULT 0, software text NOT NULL) WITH (fillfactor=20);
CREATE UNIQUE INDEX ON member(dir) WHERE state=0;
CREATE TABLE slot(id smallint PRIMARY KEY, owner bigint REFERENCES member, gate bigint NOT NULL DEFAULT 0) WITH (fillfactor=20);
INSERT INTO slot(id) SELECT generate_series(0,255);
CREATE TABLE host(id bigint PRIMARY KEY, slot smallint NOT NULL, auth text COLLATE "C" NOT NULL,
  due bigint NOT NULL DEFAULT 0, nb bigint NOT NULL DEFAULT 0, pace bigint NOT NULL, queued int NOT NULL DEFAULT 0,
  deferred int NOT NULL DEFAULT 0, cond smallint NOT NULL DEFAULT 0, hold smallint NOT NULL DEFAULT 0, hold_until bigint,
  last bigint NOT NULL DEFAULT 0, dir uuid, ends bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0}')
  WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
CREATE INDEX ON host(slot,due) WHERE queued+deferred>0 AND cond<2 AND hold<>2;
CREATE INDEX ON host(auth);
CREATE TABLE hrec(id bigint PRIMARY KEY, reason text NOT NULL DEFAULT '', hold_reason text NOT NULL DEFAULT '',
  width int NOT NULL DEFAULT 0, robots bytea, memory bytea) WITH (fillfactor=60);
CREATE SEQUENCE batch;
CREATE TABLE url(host bigint, fp bigint, seq bigint NOT NULL, st smallint NOT NULL DEFAULT 0, why text, u text, c bytea, PRIMARY KEY(host,fp));
CREATE INDEX ON url(host,seq) WHERE st=0;
CREATE TABLE retry(host bigint, fp bigint, due bigint NOT NULL, attempts int NOT NULL, reason text NOT NULL, replaced text, PRIMARY KEY(host,fp));
CREATE TABLE tally(member bigint, name text, n bigint NOT NULL, PRIMARY KEY(member,name)) WITH (fillfactor=20);
CREATE TABLE seed(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text NOT NULL, tag bytea NOT NULL, from_url text NOT NULL);
CREATE TABLE blob(sha bytea PRIMARY KEY, body bytea NOT NULL);`

// The states of a URL beside the outcomes, which are 1 to 7.
const (
	urlQueued   = 0
	urlDeferred = 8
	urlRefused  = 10
)

// The states of a member.
const (
	alive   = 0
	left    = 1
	expired = 2
)
