package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// maxCounted is how many hosts are counted to find the busiest.
const maxCounted = 4 << 20

// ErrNoHost says that the ledger has no line of the host that was asked about.
var ErrNoHost = errors.New("report: the ledger has no decision about this host")

// ErrHost says that Options.Host is no host.
var ErrHost = errors.New("report: not a host")

// Make reads ledger and archive and returns what they say.
func Make(ctx context.Context, o Options) (*Report, error) {
	var want func(canon.Authority) bool
	var spelt string
	if o.Host != "" {
		var err error
		if want, spelt, err = hosts(o.Host); err != nil {
			return nil, err
		}
	}
	entries := ledger.Skim(o.Ledger)
	g := newGathering(o.maxHosts(), want, nil)
	if err := g.read(ctx, entries); err != nil {
		return nil, fmt.Errorf("report: read the ledger: %w", err)
	}
	var all crowd
	if g.overflow {
		var err error
		if all, err = busiest(ctx, ledger.Read(o.Ledger), want, o.maxHosts()); err != nil {
			return nil, fmt.Errorf("report: read the ledger: %w", err)
		}
		g = newGathering(o.maxHosts(), want, all.isBest)
		if err := g.read(ctx, entries); err != nil {
			return nil, fmt.Errorf("report: read the ledger: %w", err)
		}
	}
	if o.Host != "" && g.total.Lines == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoHost, clean(o.Host))
	}
	r := g.result()
	if all.isBest != nil {
		r.Known, r.Reached, r.More = all.known, all.asked, all.more
	}
	r.Made, r.Software, r.Host = o.Now.UTC(), clean(o.Software), clean(o.Host)
	r.HostPort = spelt
	r.Crawl.Name, r.Crawl.Settings, r.Remarks = clean(filepath.Base(filepath.Clean(o.Dir))), []Setting{},
		cleaned(o.Remarks)
	for _, s := range o.Settings {
		r.Crawl.Settings = append(r.Crawl.Settings, Setting{clean(s.Name), clean(s.Value), clean(s.Default)})
	}
	if err := r.readInfos(ctx, o.WARC); err != nil {
		return nil, err
	}
	if err := r.duplicated(ctx, o.Duplicates); err != nil {
		return nil, err
	}
	g.ending.tell(&r.Crawl)
	if o.Host != "" { // acts name other hosts, and say why
		r.Crawl.Acts, r.Crawl.MoreActs = nil, 0
	}
	if n, err := ledger.Latest(o.Ledger); err == nil { // whether it is right, the audit says
		r.Crawl.Head = fmt.Sprintf("%d:%x", n.Size, n.Root[:])
	}
	if err := r.connect(ctx, o); err != nil {
		return nil, err
	}
	return r, r.audited(ctx, o.Audit)
}

// audited adds the result of the audit. That there is none is part of the report.
func (r *Report) audited(ctx context.Context, audit func(context.Context) (Audit, error)) error {
	if audit == nil {
		return nil
	}
	a, err := audit(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a = Audit{Failed: err.Error()}
	}
	a.Failed, a.Level = clean(a.Failed), clean(a.Level)
	for i := range a.Findings {
		f := &a.Findings[i]
		f.Code, f.Meaning = clean(f.Code), clean(f.Meaning)
		f.Samples = cleaned(f.Samples[:min(len(f.Samples), maxSamples)])
	}
	a.CannotShow = cleaned(a.CannotShow)
	r.Audit = &a
	return nil
}

// hosts is the test for the host that a user named: a name, at all its ports and by all schemes, or HOST:PORT, or
// SCHEME://HOST[:PORT]. It returns the name in one spelling, too: HOST, or HOST:PORT whichever way the port is known.
func hosts(name string) (want func(canon.Authority) bool, spelt string, err error) {
	scheme := true
	spelt = strings.TrimSuffix(name, "/")
	if !strings.Contains(spelt, "://") {
		spelt, scheme = "http://"+spelt, false
	}
	u, err := canon.Parse(spelt)
	if err != nil || u.RequestURI() != "/" {
		return nil, "", fmt.Errorf("%w: %q; write it like www.example.org, www.example.org:8080 or https://www.example.org",
			ErrHost, name)
	}
	a := u.Authority()
	switch {
	case scheme:
		return func(b canon.Authority) bool { return a == b }, a.Host() + ":" + a.Port(), nil
	case portGiven(name):
		return func(b canon.Authority) bool { return a.Host() == b.Host() && a.Port() == b.Port() },
			a.Host() + ":" + a.Port(), nil
	}
	return func(b canon.Authority) bool { return a.Host() == b.Host() }, a.Host(), nil
}

func portGiven(name string) bool {
	return strings.Contains(name[strings.LastIndexByte(name, ']')+1:], ":")
}

// crowd is what is known of more hosts than are told apart.
type crowd struct {
	isBest       func(name string) bool // it is one of the busiest
	known, asked int64
	more         bool // and there are more, that were not counted
}

// busiest counts the lines of each host, and picks those with the most exchanges, then lines. It keeps 16 bytes of a host:
// two whose names have the same keyed hash of 64 bits count as one.
func busiest(ctx context.Context, lines iter.Seq2[storage.Line, error],
	want func(canon.Authority) bool, limit int) (crowd, error) {
	seed := maphash.MakeSeed()
	c := crowd{}
	counts := map[uint64]int64{}
	namer := gathering{want: want}
	for l, err := range lines {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		name, ok := namer.hostOf(&l)
		if err != nil || !ok {
			continue
		}
		h := maphash.String(seed, name)
		before, met := counts[h]
		if !met && len(counts) >= maxCounted {
			c.more = true
			continue
		}
		if !met && name != "" {
			c.known++
		}
		counts[h] = min(before+weight(&l), 1<<60)
	}
	all := make([]uint64, 0, len(counts))
	for h, n := range counts {
		all = append(all, h)
		if n >= weighty {
			c.asked++
		}
	}
	slices.SortFunc(all, func(a, b uint64) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	best := map[uint64]bool{}
	for _, h := range all[:min(limit, len(all))] {
		best[h] = true
	}
	c.isBest = func(name string) bool { return best[maphash.String(seed, name)] }
	return c, nil
}

// weighty is the weight of an exchange.
const weighty = 1 << 20

// weight puts exchanges before all that is not one, and own hosts before all.
func weight(l *storage.Line) int64 {
	switch {
	case l.Own:
		return 1 << 40
	case Sent(l):
		return weighty
	}
	return 1
}

// Options say what to report on.
type Options struct {
	Dir    string // the crawl directory, for its name alone
	Ledger string // the folder of the ledger
	WARC   string // the folder of the archive; it may be missing

	// Host makes the report of one host: its name, or HOST:PORT, or SCHEME://HOST:PORT. Empty means the whole crawl.
	Host string

	// MaxHosts is how many hosts are told apart, the busiest; the others are summed. Zero means 1,000.
	MaxHosts int

	// Duplicates is asked for the pages that say the same; nil leaves them out.
	Duplicates func(ctx context.Context) (Duplicates, error)

	// Graph reads the archive from one end to the other for the links between hosts, and adds what they come to, if more
	// than one host was asked.
	Graph bool

	Software string    // the program that makes the report, name/version
	Now      time.Time // when it is made

	// Settings are those of the crawl that differ from the default. Remarks are further sentences to print beside them.
	Settings []Setting
	Remarks  []string

	// Audit is asked for the result of an audit; nil leaves it out.
	Audit func(ctx context.Context) (Audit, error)
}

// Setting is a setting of the crawl that differs from its default.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
}

// Audit is the result of an audit.
type Audit struct {
	Level      string         `json:"level"`                 // what it reached, in its words
	Clean      bool           `json:"clean"`                 // no violation was found
	Violations int64          `json:"violations"`            //
	Unprovable int64          `json:"unprovable,omitempty"`  // checks that could not be proved either way
	Findings   []AuditFinding `json:"findings,omitempty"`    // by code
	CannotShow []string       `json:"cannot_show,omitempty"` // what the evidence is silent on
	Failed     string         `json:"failed,omitempty"`      // why there is no result
}

// AuditFinding is what an audit found of one kind.
type AuditFinding struct {
	Code      string   `json:"code"`
	Meaning   string   `json:"meaning"`   // what the code stands for, a sentence
	Violation bool     `json:"violation"` // or else it is named only
	Count     int64    `json:"count"`
	Samples   []string `json:"samples,omitempty"`
}

func (o *Options) maxHosts() int {
	if o.MaxHosts > 0 {
		return o.MaxHosts
	}
	return 1000
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report: write the JSON form: %w", err)
	}
	return nil
}
