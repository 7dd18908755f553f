package audit

import (
	"strings"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/rules"
	"curtsy/storage/warc"
)

// audit is one run.
type audit struct {
	o     Options
	r     *Result
	hosts map[string]*host
	texts *rules.Store // of robots.txt
	read  reader       // of the records' blocks

	cur    *stream // the file being read
	info   *Info   // the last warcinfo record before what is being read or judged
	agents map[string]string
	addrs  map[string]*address
	hops   map[string][]hop // what robots.txt redirected to, by key
	expect map[string]bool  // keys of URLs whose bodies are wanted: redirects of robots.txt, known before they are judged
	ids    *seen            // of answers, for revisits

	originals *originals // what answers say of themselves, for revisits

	runNo       int       // of runs of ours, as their files tell
	runBegan    time.Time // as the last warcinfo says; zero when it does not
	begun, last time.Time // of the file that was just begun, and the latest end since the clock was set
	steps       int       // how often it was set back
	stepAt      time.Time // the first date behind the last time

	startsKept int // of all hosts

	absent int64 // answers that request and metadata name, and that are not there

	found map[codeAt]int
	count map[finding.Code]*Count
	quiet *host // stands for no host in particular
}

// codeAt is a code at a host.
type codeAt struct {
	code finding.Code
	at   *host
}

func newAudit(o Options) (*audit, error) {
	t, err := rules.NewStore(o.TempDir)
	if err != nil {
		return nil, err
	}
	a := &audit{
		o: o, r: &Result{Version: Version, Level: SelfConsistent}, texts: t,
		hosts: map[string]*host{}, agents: map[string]string{}, addrs: map[string]*address{},
		hops: map[string][]hop{}, expect: map[string]bool{}, ids: newSeen(), originals: newOriginals(),
		found: map[codeAt]int{}, count: map[finding.Code]*Count{}, quiet: &host{},
	}
	a.read.init()
	return a, nil
}

func (a *audit) close() { a.texts.Close() }

// oddity names what is wrong with a file, and counts what is merely not as the standard has it.
func (a *audit) oddity(told *File, f warc.Finding) {
	torn := f.Code == warc.Torn
	told.Torn = told.Torn || torn
	if f.Note() {
		if told.Oddities == nil {
			told.Oddities = map[string]int64{}
		}
		told.Oddities[f.Code]++
		return
	}
	a.report(finding.Finding{
		// That an unfinished segment ends within a record is how a kill leaves it.
		Code: finding.BadRecord, Note: torn && unfinished(told.Name), Place: finding.Place{File: told.Name, Offset: f.Offset},
		Required: "records that can be read to their end (WARC 1.1, 4)", Observed: f.Code + ": " + f.Text,
	})
}

// record takes one record.
func (a *audit) record(path string, rec *warc.Record) error {
	at := finding.Place{File: path, Offset: rec.Offset, Record: finding.Short(rec.ID())}
	rec.Type = strings.ToLower(rec.Type) // some write it otherwise, and mean no other
	if a.ours() && rec.Type != "warcinfo" && !a.cur.opened {
		a.bad(at, rec.TargetURI(), "a warcinfo record at the beginning of each file (docs/warc.md)", "a "+finding.Short(rec.Type)+" record before one")
	}
	a.cur.opened = true
	a.repeated(rec, at)
	a.formal(rec, at)
	switch rec.Type {
	case "warcinfo":
		a.warcinfo(rec, at)
	case "request", "response", "revisit":
		h, err := a.half(rec, at)
		if err != nil {
			return err
		}
		if h != nil {
			a.join(h)
		}
	case "metadata":
		a.metadata(rec, at)
	case "resource", "conversion":
		a.stray(rec, at)
		a.alone(rec, at)
	default:
		a.stray(rec, at)
		a.other(rec, at)
	}
	return nil
}

// stray names a record in an archive of ours that this crawler does not write.
func (a *audit) stray(rec *warc.Record, at finding.Place) {
	if a.ours() {
		a.bad(at, rec.TargetURI(), "records of the kinds that docs/warc.md has", "a "+finding.Short(rec.Type)+" record of "+finding.Short(rec.Fields.Get("Content-Type")))
	}
}

// other checks the digests of a record that is no part of an exchange.
func (a *audit) other(rec *warc.Record, at finding.Place) {
	a.r.Totals.Other++
	a.read.begin(rec, false)
	a.read.rest()
	a.digests(rec, at, rec.TargetURI())
}

// report counts a finding, and keeps it unless there are too many of its kind.
func (a *audit) report(f finding.Finding) {
	h := a.quiet
	if f.Authority != "" {
		h = a.host(f.Authority)
	}
	c := a.count[f.Code]
	if c == nil {
		c = &Count{Code: f.Code}
		a.count[f.Code] = c
	}
	c.Found++
	if f.Note {
		c.Notes++
		a.r.Totals.Notes++
	} else {
		h.violations++
		a.r.Totals.Violations++
	}
	k := codeAt{f.Code, h}
	if a.found[k]++; a.found[k] > a.o.Limit || len(a.r.Findings) >= maxFindings {
		return
	}
	c.Kept++
	f.URL, f.Authority = finding.Short(f.URL), finding.Short(f.Authority)
	f.Required, f.Observed = finding.Short(f.Required), finding.Short(f.Observed)
	a.r.Findings = append(a.r.Findings, f)
}

// maxFindings bounds what is kept of all codes and hosts.
const maxFindings = 20000
