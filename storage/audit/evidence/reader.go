package evidence

import (
	"curtsy/storage/audit/finding"
)

// Options say what is read.
type Options struct {
	// Files are WARC files, in the order in which they were written. Their names are kept in findings as given.
	Files []string

	Ours  bool   // this crawler wrote the files whatever they say: its ledger stands beside them
	Texts *Store // keeps what may be a robots.txt
}

// Reader reads files and puts their records together.
type Reader struct {
	o     Options
	found finding.Report
	sum   Summary
	block blockReader // of the records' blocks

	cur    *stream         // the file being read
	agents interned        // User-Agent fields
	expect map[string]bool // keys of URLs whose bodies are wanted: redirects of robots.txt, known before they are judged
	ids    *bloomFilter    // of answers, for revisits

	originals *originals // what answers say of themselves, for revisits
}

// Summary is what was read.
type Summary struct {
	Files    []File
	Archives []*Info // each warcinfo that differs

	Records   int64
	Other     int64 // that are no part of an exchange over HTTP
	Revisits  int64
	Elsewhere int64 // revisits of records that are not in the files, as far as can be told
	Digests   int64 // recomputed
}

// NewReader returns a Reader of what o names. found hears of faults of a record when the record is read, before its
// exchange is judged.
func NewReader(o Options, found finding.Report) *Reader {
	rd := &Reader{o: o, found: found, agents: interned{}, expect: map[string]bool{}, ids: newBloomFilter(),
		originals: newOriginals()}
	rd.block.init()
	return rd
}

// Summary returns what was read so far.
func (rd *Reader) Summary() Summary { return rd.sum }

// ours reports whether the file being read says that this crawler made it.
func (rd *Reader) ours() bool { return rd.cur.ours() }

func (s *stream) ours() bool { return s.info != nil && s.info.Ours }
