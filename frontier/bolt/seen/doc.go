// Package seen is the set of the fingerprints of all URLs that a crawl has ever accepted. It hides how a hundred
// million of them fit into memory, and how many are looked up at once.
//
// It is a hash table with open addressing in 256 shards, and nothing but the fingerprints in the tables. A shard grows
// by a quarter when four fifths are used, so the set takes 10 to 12.5 bytes per URL, and only one shard at a time
// exists twice.
//
// One goroutine at a time adds: in the engine, the holder of its mutex. Others look up meanwhile without a lock. A slot
// changes once, from empty to what it holds ever after, and a table that has grown takes the place of the old one when
// it is whole. So a look may miss what is being added, and never finds what was not.
package seen
