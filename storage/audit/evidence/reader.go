package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/hostrule"
	"curtsy/storage/warc"
)

type Options struct {
	Files []string // WARC files in the order in which they were written; findings name them as given
	Ours  bool     // this crawler wrote the files, even if they deny it: its ledger is beside them
	Texts *Store   // keeps each possible robots.txt
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

	originals *originals // answers' claims about themselves, for revisits
}

type Summary struct {
	Files    []File
	Archives []*Info // each warcinfo that differs

	Records   int64
	Other     int64 // not part of an exchange over HTTP
	Revisits  int64
	Elsewhere int64 // revisits of records that are not in the files, as far as known
	Digests   int64 // recomputed
}

// NewReader returns a Reader. It passes faults of a record to found before the record's exchange is judged.
func NewReader(o Options, found finding.Report) *Reader {
	rd := &Reader{
		o: o, found: found, agents: interned{}, expect: map[string]bool{},
		ids:       &bloomFilter{make([]uint64, seenBits/64), maphash.MakeSeed()},
		originals: &originals{make([]original, maxOriginals), maphash.MakeSeed()},
	}
	rd.block.init()
	return rd
}

func (rd *Reader) Summary() Summary { return rd.sum }

func (rd *Reader) ours() bool { return rd.cur.ours() }

func (s *stream) ours() bool { return s.info != nil && s.info.Ours }

// message reports whether a record's fields declare a block of HTTP. Not all writers name a type.
func message(rec *warc.Record) bool {
	media, _, _ := strings.Cut(rec.Fields.Get("Content-Type"), ";")
	media = strings.TrimSpace(media)
	return media == "" || strings.EqualFold(media, "application/http") || strings.EqualFold(media, "message/http")
}

// alone takes a record with the content of a URL but without its exchange: a resource, a conversion, or a response
// without its HTTP. It is judged without one; a conversion of a response in the files is judged by that.
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
	h := &partial{Exchange: Exchange{Alone: rec.Type, Place: at, URL: uri, Authority: p.Authority, Target: p.Target}}
	h.Began, h.Resolution, _ = instant(rec.Fields.Get("WARC-Date"))
	rd.cur.window = append(rd.cur.window, h)
	rd.cur.flush(windowSize)
}

func answerTo(id, uri string) string { return id + " " + uri }

func (rd *Reader) unreadable(at finding.Place, uri string, err error) {
	rd.bad(at, uri, "a WARC-Target-URI that can be read", err.Error()+": "+finding.Short(uri))
}

// stream is a file while it is read: it yields the events to be judged, in the order of the file.
type stream struct {
	f          *os.File
	sum        hash.Hash // of the file; nil if unused
	rd         *warc.Lenient
	file       File
	info       *Info
	rec        *warc.Record  // being read, or read last
	lost       finding.Place // of the last record whose head cannot be read; zero if all could
	lostBefore int64         // the number of records before it
	window     []*partial
	queue      []Event
	done       bool
	opened     bool // something was read
}

// Event is something to be judged: an exchange, a warcinfo record, or lines of URLs that were not requested.
type Event struct {
	Info     *Info // the file's last warcinfo
	Exchange *Exchange
	Refusals []storage.Line
	At       finding.Place // of lines
}

// due is when an event is due among those of other files: when its exchange ended, since it was written then.
func (ev Event) due() time.Time {
	if ev.Exchange == nil {
		return time.Time{}
	}
	return ev.Exchange.End()
}

func (rd *Reader) open(ctx context.Context, path string) (*stream, error) {
	f, err := warc.OpenListed(path, os.Open)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	s := &stream{f: f, file: File{Name: path}}
	in := meter.Reader(ctx, f)
	if rd.o.Ours { // a file is read to its end, each byte once
		s.sum = sha256.New()
		in = io.TeeReader(in, s.sum)
	}
	s.rd = warc.NewLenient(in, func(f warc.Finding) { rd.oddity(s, f) })
	return s, nil
}

// fill reads until something is to be judged, or the file ends.
func (rd *Reader) fill(ctx context.Context, s *stream) error {
	if s.info == nil && rd.o.Ours { // until its warcinfo is read
		s.info = &Info{Ours: true}
	}
	rd.cur = s
	for len(s.queue) == 0 && !s.done {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("audit: read %s: %w", s.file.Name, err)
		}
		rec, err := s.rd.Next()
		if errors.Is(err, io.EOF) {
			if n := len(s.window); n > 0 {
				s.window[n-1].Last = true
			}
			s.flush(0)
			if s.sum != nil {
				s.file.SHA256 = hex.EncodeToString(s.sum.Sum(nil))
			}
			s.done = true
			if s.file.Octets, err = s.rd.End(); err != nil {
				return fmt.Errorf("audit: read %s: %w", s.file.Name, err)
			}
			rd.sum.Files = append(rd.sum.Files, s.file)
			rd.sum.Records += s.file.Records
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit: read %s: %w", s.file.Name, err)
		}
		s.rec = rec
		s.file.Records++
		if err := rd.record(s.file.Name, rec); err != nil {
			return err
		}
		if _, err := s.rd.End(); err != nil { // its checksum is verified before its exchange is judged
			return fmt.Errorf("audit: read %s: %w", s.file.Name, err)
		}
	}
	return nil
}

func (s *stream) next() Event {
	ev := s.queue[0]
	s.queue = slices.Delete(s.queue, 0, 1)
	return ev
}

// Each reads the files in order. Another crawler may write several at once: their exchanges are merged by time.
func (rd *Reader) Each(ctx context.Context, judge func(context.Context, Event) error) error {
	paths := rd.o.Files
	width := 1
	if len(paths) > 1 {
		firsts := make(map[string]time.Time, len(paths))
		for _, p := range paths {
			at, ours, err := first(p)
			if err != nil {
				return err
			}
			if firsts[p] = at; !ours && !rd.o.Ours {
				width = maxStreams
			}
		}
		if width > 1 {
			paths = slices.Clone(paths)
			slices.SortStableFunc(paths, func(p, q string) int { return firsts[p].Compare(firsts[q]) })
		}
	}
	return rd.merge(ctx, paths, width, judge)
}

const maxStreams = 16 // files read at one time

// merge judges the events of the files, always the one due first among the next width of them.
func (rd *Reader) merge(ctx context.Context, paths []string, width int, judge func(context.Context, Event) error) error {
	var reading []*stream
	defer func() {
		for _, s := range reading {
			s.f.Close() // it was only read
		}
	}()
	for len(paths) > 0 || len(reading) > 0 {
		for len(reading) < width && len(paths) > 0 {
			s, err := rd.open(ctx, paths[0])
			if err != nil {
				return err
			}
			reading, paths = append(reading, s), paths[1:]
		}
		best := -1
		for i := 0; i < len(reading); i++ {
			s := reading[i]
			if err := rd.fill(ctx, s); err != nil {
				return err
			}
			switch {
			case len(s.queue) == 0:
				s.f.Close() // it was only read
				reading = slices.Delete(reading, i, i+1)
				i--
			case best < 0 || s.queue[0].due().Before(reading[best].queue[0].due()):
				best = i
			}
		}
		if best < 0 || len(reading) < width && len(paths) > 0 {
			continue
		}
		if err := judge(ctx, reading[best].next()); err != nil {
			return err
		}
	}
	return nil
}

// first returns the first date in a file, and whether this crawler wrote the file.
func first(path string) (at time.Time, ours bool, err error) {
	f, err := warc.OpenListed(path, os.Open)
	if err != nil {
		return at, false, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	rd := warc.NewLenient(f, nil)
	for range 4 {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return at, false, fmt.Errorf("audit: read %s: %w", path, err)
		}
		if rec.Type == "warcinfo" {
			in := &Info{}
			var r blockReader
			r.init()
			r.begin(rec, false)
			if warcFields(&r, in.add) == nil {
				in.read()
				ours = in.Ours
			}
		}
		if t, _, ok := instant(rec.Fields.Get("WARC-Date")); ok && at.IsZero() {
			at = t
		}
	}
	return at, ours, nil
}

func (rd *Reader) warcinfo(rec *warc.Record, at finding.Place) {
	rd.cur.flush(0)
	in := &Info{Place: at}
	in.Date, _, _ = instant(rec.Fields.Get("WARC-Date"))
	whole := sha256.New()
	rec.Block = io.TeeReader(rec.Block, whole)
	rd.block.begin(rec, false)
	err := warcFields(&rd.block, in.add)
	rd.block.rest()
	in.SHA256 = hex.EncodeToString(whole.Sum(nil))
	rd.digests(rec, at, "")
	if rd.block.src.err != nil {
		return
	}
	if err != nil {
		rd.bad(at, "", "fields of a warcinfo record", err.Error())
	}
	in.read()
	if rd.o.Ours && !in.Ours {
		in.Ours = true
		rd.bad(at, "", "software: "+OurToken+"/…, whose ledger is beside the archive",
			"software: "+finding.Short(in.Software))
	}
	if in.Ours {
		rd.declares(in)
	}
	rd.cur.info = in
	rd.sum.archive(in)
	rd.cur.queue = append(rd.cur.queue, Event{Info: in})
}

// declares checks that a warcinfo record of this crawler is the only one of its file and names the operator.
func (rd *Reader) declares(in *Info) {
	if earlier := rd.cur.info; earlier != nil && earlier.Record != "" {
		rd.bad(in.Place, "", "one warcinfo record, at the beginning of its file (archive reference)",
			"another, after "+earlier.Record)
	}
	for _, f := range [][2]string{{"http-header-user-agent", in.Agent}, {"product-token", in.Token}} {
		if f[1] == "" {
			rd.bad(in.Place, "", "the fields that the archive reference has", "no "+f[0])
		}
	}
}

// MaxInfo bounds the fields kept of a warcinfo record: this crawler writes three for each of 64 [[host]] tables.
const MaxInfo = 300

func (in *Info) add(name, value string) {
	if len(in.Fields) < MaxInfo {
		in.Fields = append(in.Fields, [2]string{finding.Short(name), finding.Short(value)})
	}
}

func (in *Info) read() {
	for _, f := range in.Fields {
		ms := millis(f[1])
		switch strings.ToLower(f[0]) {
		case "software":
			in.Software = f[1]
			in.Ours = strings.HasPrefix(f[1], "curtsy/")
		case "operator":
			in.Operator = f[1]
		case "http-header-user-agent":
			in.Agent = f[1]
		case "robots":
			in.Standard = f[1]
		case "product-token":
			in.Token = f[1]
		case "pace-floor-ms":
			in.Floor = ms
		case "host-delay-ms", "host-hours", "host-per-day":
			in.term(strings.ToLower(f[0]), f[1])
		case "window":
			w, err := hostrule.ParseSpan(f[1])
			in.Windows, in.anyWindow = append(in.Windows, w), in.anyWindow || err != nil
		case "ip-delay-ms":
			in.IPDelay = ms
		case "max-crawl-delay-ms":
			in.MaxDelay = max(ms, 1)
		case "exchanges-at-once":
			in.AtOnce, _ = strconv.Atoi(f[1]) // a value that is not a number is ignored
		case "run-began":
			in.RunBegan, _, _ = instant(f[1])
		case "own-sites":
			in.OwnSites = f[1]
		case "own-site-failures":
			in.Findings = f[1] == "findings"
		case "proxy":
			in.Proxy = f[1]
		case "credentials":
			in.Credentials = append(in.Credentials, f[1])
		case "config-sha256":
			in.ConfigSHA = f[1]
		case "ledger-key":
			in.LedgerKey = f[1]
		}
	}
}

const maxArchives = 50 // different warcinfo records in a result

func (s *Summary) archive(in *Info) {
	if len(s.Archives) < maxArchives && !slices.ContainsFunc(s.Archives, in.same) {
		s.Archives = append(s.Archives, in)
	}
}

// SignsIn reports whether the archive declares credentials for an authority.
func (in *Info) SignsIn(authority string) bool {
	return in != nil && slices.ContainsFunc(in.Credentials, func(credential string) bool {
		a, _, _ := strings.Cut(credential, ": ")
		return a == authority
	})
}

func (in *Info) same(b *Info) bool {
	return in.Software == b.Software && in.Operator == b.Operator && in.Agent == b.Agent && in.Standard == b.Standard &&
		in.Token == b.Token && in.Floor == b.Floor && in.IPDelay == b.IPDelay && reflect.DeepEqual(in.Terms, b.Terms) && in.OwnSites == b.OwnSites && in.Findings == b.Findings &&
		in.ConfigSHA == b.ConfigSHA && in.Proxy == b.Proxy && slices.Equal(in.Credentials, b.Credentials)
}

// millis reads a setting in milliseconds. An invalid one is ignored, so this crawler's default applies.
func millis(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0
	}
	return time.Duration(min(n, 10*365*24*60*60*1000)) * time.Millisecond
}

// OurToken is the product token that binds every crawl of this crawler (docs/trust/politeness.md, rule 1).
const OurToken = "curtsy"

// term takes a field: "5000 *.example.org". An unreadable one binds nothing.
func (in *Info) term(field, s string) {
	value, hosts, _ := strings.Cut(s, " ")
	r := hostrule.Rule{Match: strings.ToLower(hosts)}
	switch field {
	case "host-delay-ms":
		r.Delay = millis(value)
	case "host-per-day":
		n, _ := strconv.ParseInt(value, 10, 64)
		r.PerHostPerDay = max(n, 0)
	case "host-hours": // "22:00-06:00,12:00-13:00 *.example.org", UTC
		r.Hours = strings.Split(value, ",")
	}
	in.Terms = append(in.Terms, r)
}

// Term returns the crawl's declared terms for the host of an authority.
func (in *Info) Term(authority string) hostrule.Overrides {
	if len(in.Terms) == 0 {
		return hostrule.Overrides{}
	}
	a, _ := canon.ParseAuthority(authority) // the zero Authority has no host
	return in.Terms.Of(a)
}

// Closed reports whether declared hours close the host of an authority at t, and for which hosts they are declared.
func (in *Info) Closed(authority string, t time.Time) (hosts string, closed bool) {
	for _, r := range in.Terms {
		if one := (Info{Terms: hostrule.Rules{r}}); len(r.Hours) > 0 && one.Term(authority).Closed(t) > 0 {
			return r.Match, true
		}
	}
	return "", false
}

// Outside reports whether the crawl declares no requests at t. An unreadable window may be open at any time.
func (in *Info) Outside(t time.Time) bool { return !in.anyWindow && !in.Windows.Open(t) }
