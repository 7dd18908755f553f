package evidence

import (
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
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

// message reports whether a record's block is a message of HTTP, as far as its fields say. Not all writers name a type.
func message(rec *warc.Record) bool {
	media, _, _ := strings.Cut(rec.Fields.Get("Content-Type"), ";")
	media = strings.TrimSpace(media)
	return media == "" || strings.EqualFold(media, "application/http") || strings.EqualFold(media, "message/http")
}

// alone takes a record that holds what a URL gave, and not the exchange that brought it: a resource, a conversion, or
// an answer without its HTTP. It is judged in its turn; a conversion of an answer that is in the files is judged by
// that.
func (rd *Reader) alone(rec *warc.Record, at finding.Place) {
	uri := rec.TargetURI()
	rd.other(rec, at)
	if !IsHTTP(uri) {
		return
	}
	p, err := ParseURL(uri)
	if err != nil {
		rd.unreadable(at, uri, err)
		return
	}
	if of := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"); rec.Type == "conversion" &&
		rd.ids.has(answerTo(finding.Short(of), uri)) {
		return
	}
	h := &partial{Joined: Joined{Alone: rec.Type}}
	h.Exchange = Exchange{Place: at, URL: uri, Authority: p.Authority, Target: p.Target}
	h.Exchange.Began, h.Exchange.Resolution, _ = instant(rec.Fields.Get("WARC-Date"))
	rd.cur.window = append(rd.cur.window, h)
	rd.cur.flush(windowSize)
}

// answerTo stands for an answer with that id to a request for that URL.
func answerTo(id, uri string) string { return id + " " + uri }

// unreadable says that a URL was asked for, or kept, of which nobody can say what rules bind it.
func (rd *Reader) unreadable(at finding.Place, uri string, err error) {
	rd.bad(at, uri, "a WARC-Target-URI that can be read", err.Error()+": "+finding.Short(uri))
}
