package mirror

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mirror/layout"
)

// Missing is a line of the list of what is missing: a URL that files of the mirror name, and that has no file there.
// References to it are absolute.
type Missing struct {
	URL     string   `json:"url"` // in its canonical form
	Reason  Reason   `json:"reason"`
	Detail  string   `json:"detail,omitempty"`  // in the crawl's words
	Links   int64    `json:"links,omitempty"`   // files that link to it
	Embeds  int64    `json:"embeds,omitempty"`  // files that need it to be complete
	Scripts int64    `json:"scripts,omitempty"` // files with scripts that name it, or JSON that does
	In      []string `json:"in"`                // the first of these files, at most three
}

// maxIn is how many files a line of what is missing names.
const maxIn = 3

// absent gathers what documents name and the mirror does not have.
type absent struct {
	lines *sorter        // "KEY\tL|E|S\tFILE"
	hosts map[string]why // of hosts whose refusals the ledger counts without naming all
	shut  map[string]why // of hosts, what came of asking for robots.txt last; without a reason if it was had

	unfetched func(canon.URL, bool) (string, error) // Options.Unfetched
}

type why struct {
	reason Reason
	detail string
	rank   int8
	at     int64 // microseconds
}

// after reports whether w is to replace was.
func (w why) after(was why) bool {
	return cmp.Or(cmp.Compare(w.rank, was.rank), cmp.Compare(w.at, was.at), strings.Compare(w.detail, was.detail)) > 0
}

func newAbsent(temp string, unfetched func(canon.URL, bool) (string, error)) *absent {
	return &absent{lines: newSorter(temp), hosts: map[string]why{}, shut: map[string]why{}, unfetched: unfetched}
}

// add notes that a file names u.
func (a *absent) add(u canon.URL, embed bool, file string) error {
	kind := "\tL\t"
	if embed {
		kind = "\tE\t"
	}
	return a.lines.add(u.Key() + kind + file)
}

// addScripted notes that a script in a file names u.
func (a *absent) addScripted(u canon.URL, file string) error {
	return a.lines.add(u.Key() + "\tS\t" + file)
}

// ofLedger begins what the ledger says of a URL, which is sorted before its line.
const ofLedger = "!"

// String is what a line of the sorter has of w.
func (w why) String() string {
	return fmt.Sprintf("%s%d\t%d\t%s\t%s", ofLedger, w.rank, w.at, w.reason, w.detail)
}

// whyIn reads what String made.
func whyIn(line string) (w why) {
	f := strings.SplitN(strings.TrimPrefix(line, ofLedger), "\t", 4)
	rank, _ := strconv.ParseInt(f[0], 10, 8)
	w.at, _ = strconv.ParseInt(f[1], 10, 64)
	w.rank, w.reason, w.detail = int8(rank), Reason(f[2]), f[3]
	return w
}

// write writes the list. The reasons are those of the plan, else of the ledger, whose lines are sorted with it.
func (a *absent) write(w io.Writer, temp string, p *plan, lines iter.Seq2[storage.Line, error], s *Summary) error {
	gathered := newSorter(temp)
	last := ""
	var m Missing
	end := func() error {
		if m.URL == "" {
			return nil
		}
		line, err := marshal(m)
		if err != nil {
			return err
		}
		return gathered.add(keyed(m.URL, line))
	}
	err := a.lines.each(func(line string) error {
		if line == last {
			return nil
		}
		last = line
		key, rest, _ := strings.Cut(line, "\t")
		kind, file, _ := strings.Cut(rest, "\t")
		if key != m.URL {
			if err := end(); err != nil {
				return err
			}
			m = Missing{URL: key}
		}
		switch kind {
		case "E":
			m.Embeds++
		case "L":
			m.Links++
		default:
			m.Scripts++
		}
		if len(m.In) < maxIn && !slices.Contains(m.In, file) {
			m.In = append(m.In, file)
		}
		return nil
	})
	if err == nil {
		err = end()
	}
	if err == nil && last != "" {
		err = a.ask(lines, gathered)
	}
	if err != nil {
		return err
	}
	return a.explain(w, gathered, p, s)
}

// explain writes the lines with their reasons.
func (a *absent) explain(w io.Writer, gathered *sorter, p *plan, s *Summary) error {
	b := bufio.NewWriterSize(w, 64<<10)
	of, found := "", why{}
	err := gathered.each(func(line string) error {
		key, line, _ := strings.Cut(line, "\t")
		if key != of {
			of, found = key, why{reason: NotFetched}
		}
		if strings.HasPrefix(line, ofLedger) {
			if said := whyIn(line); said.after(found) {
				found = said
			}
			return nil
		}
		var m Missing
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return err
		}
		var err error
		if m.Reason, m.Detail, err = a.reason(p, key, found, m.Embeds > 0); err != nil {
			return err
		}
		switch {
		case m.Links+m.Embeds == 0:
			s.Scripted[m.Reason]++
			m.Detail = strings.TrimSuffix(string(m.Reason)+": "+m.Detail, ": ")
			m.Reason = ByScript
		case m.Embeds > 0:
			s.MissingEmbeds[m.Reason]++
			fallthrough
		default:
			s.Missing[m.Reason]++
		}
		text, err := marshal(m)
		if err != nil {
			return err
		}
		_, err = b.WriteString(text + "\n")
		return err
	})
	return errors.Join(err, b.Flush())
}

// reason returns why a URL is not in the mirror.
func (a *absent) reason(p *plan, key string, found why, embed bool) (Reason, string, error) {
	if e, ok := p.find(key); ok {
		reason, detail := p.reasonOf(e)
		if reason == Truncated && (found.reason == Scope || found.reason == TooLarge) { // the crawl cut it
			reason, detail = found.reason, found.detail
		}
		return reason, detail, nil
	}
	if found.reason != NotFetched || found.detail != "" {
		return found.reason, found.detail, nil
	}
	u, err := canon.Parse(key)
	if err != nil {
		return NotFetched, "", nil //nolint:nilerr // what is no URL has no host
	}
	host := u.Authority().String()
	if w, ok := a.hosts[host]; ok {
		return w.reason, w.detail, nil
	}
	if w := a.shut[host]; w.reason != "" {
		return w.reason, w.detail, nil
	}
	if a.unfetched == nil {
		return NotFetched, "", nil
	}
	detail, err := a.unfetched(u, embed)
	if budget, ok := strings.CutPrefix(detail, storage.RuleOfBudget); ok {
		return Budget, budget, err
	}
	if strings.HasPrefix(detail, storage.RuleOfScope) {
		return Scope, detail, err
	}
	return NotFetched, detail, err
}

// RecordUnreadable is the detail of Damaged where the archive is: the file should be there.
const RecordUnreadable = "its record in the archive cannot be read"

// reasonOf returns why an archived URL has no file.
func (p *plan) reasonOf(e *entry) (Reason, string) {
	reason, detail := stateReasons[e.state], ""
	switch e.state {
	case isDamaged:
		if e.flags&unreadable != 0 {
			detail = RecordUnreadable
		}
	case isFailed, isGone:
		detail = fmt.Sprintf("status %d", e.status)
	case isRedirect:
		end, found := e, true
		met := map[*entry]bool{}
		for found && end.state == isRedirect {
			if met[end] {
				return reason, "redirect loop"
			}
			if met[end] = true; len(met) > maxHops {
				return reason, fmt.Sprintf("more than %d redirects in a row", maxHops)
			}
			key, _ := targetOf(end)
			detail = "to " + key
			end, found = p.find(key)
		}
		if found {
			why, more := p.reasonOf(end)
			detail += ": " + strings.TrimSuffix(string(why)+": "+more, ": ")
		}
	}
	return reason, detail
}

// ask has the crawl's decisions say why what is missing was not fetched. An archived answer needs no such reason. The
// latest of several decisions counts: their order is not the same in the ledger and in the archive.
func (a *absent) ask(lines iter.Seq2[storage.Line, error], to *sorter) error {
	bad := 0
	for l, err := range lines {
		if err != nil {
			if bad++; bad > maxNotes {
				return err
			}
			continue
		}
		w := whyOf(&l)
		u, err := canon.Parse(l.URL)
		if err != nil || w.rank == 0 {
			continue
		}
		if l.Decision == storage.DecisionRobots {
			if host := u.Authority().String(); w.after(a.shut[host]) {
				a.shut[host] = w
			}
			continue
		}
		if err := to.add(keyed(u.Key(), w.String())); err != nil {
			return err
		}
		if l.Count > 0 {
			w.detail = "one of many of its host: " + w.detail
			if host := u.Authority().String(); w.after(a.hosts[host]) {
				a.hosts[host] = w
			}
		}
	}
	return nil
}

// maxDetail is the most bytes of a detail.
const maxDetail = 300

// whyOf reads a line of the ledger. Its rank says how much it tells: a deferral says less than an outcome.
func whyOf(l *storage.Line) why {
	w := why{detail: l.Reason, rank: 2, at: l.Time.UnixMicro()}
	switch l.Decision {
	case storage.DecisionDisallow:
		w.reason = Robots
		if l.RobotsLine > 0 {
			w.detail = fmt.Sprintf("%s: line %d: %s", l.Reason, l.RobotsLine, l.RobotsRule)
		}
	case storage.DecisionOptOut:
		w.reason = OptOut
	case storage.DecisionRefuse:
		switch l.Reason {
		case storage.RuleNoFollow:
			w.reason, w.rank = NoFollow, 1 // a later link may have brought it in
		case storage.RuleDepth:
			w.reason, w.rank = Scope, 1
		default:
			w.reason = Scope
		}
	case storage.DecisionHold:
		w.reason = Held
	case storage.DecisionRobots: // that of a whole host, while it cannot be had (RFC 9309 2.3.1.4)
		if s := l.Status; s == 0 || s >= 500 || s == 408 || s == 425 || s == 429 {
			w.reason, w.detail = Robots, "robots.txt: "+l.Reason
		}
	case storage.DecisionAllow:
		switch {
		case l.Outcome == storage.OutcomeDisallowed:
			w.reason = Robots
		case l.Outcome == storage.OutcomeDeferred:
			w.reason, w.rank = NotFetched, 1
		case l.Outcome == storage.OutcomeGone:
			w.reason = Gone
		case l.Outcome == storage.OutcomeDropped && strings.HasPrefix(l.Reason, storage.RuleOfScope):
			w.reason = Scope
		case l.Outcome == storage.OutcomeDropped && l.Reason == string(TooLarge):
			w.reason = TooLarge
		default:
			w.reason = Failed
		}
	default:
		w.rank = 0
	}
	w.detail = layout.CutRunes(w.detail, maxDetail)
	return w
}
