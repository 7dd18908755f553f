package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

// Fleet is a Witness of the audits of all members of a fleet, one after another. It reports requests to hosts that another
// member owned, by the notices of all members, and at the end of each audit requests of two members to one host at one
// time or without the delay between them. Dates are compared by the clock of the fleet's server, as far as notices have it.
type Fleet struct {
	Silent

	Member  string   // whose audit is next
	Missing []string // members that the others had, and that are not audited; reported with the last
	Last    bool     // Member is the last

	spans    map[string][]span
	clocks   map[string][]reading
	holdings [canon.Slots][]holding
}

// Notice is a mark in the ledger of a member.
type Notice struct {
	Taken, Given        []int // slots
	Asked, Server, Time time.Time
}

// reading is how far the server's clock was ahead of a member's, within half of a round trip.
type reading struct {
	at     time.Time
	ahead  time.Duration
	within time.Duration
}

// holding is the owner of a slot from a time of the server's on; empty for none.
type holding struct {
	member string
	from   time.Time
}

// Notice adds a notice of a member. All come before the first audit, those of a member in the order of its ledger.
func (f *Fleet) Notice(member string, n Notice) {
	if f.clocks == nil {
		f.clocks = map[string][]reading{}
	}
	trip := n.Time.Sub(n.Asked)
	f.clocks[member] = append(f.clocks[member], reading{n.Time, n.Server.Sub(n.Asked.Add(trip / 2)), max(trip, 0) / 2})
	for owner, slots := range map[string][]int{member: n.Taken, "": n.Given} {
		for _, id := range slots {
			if 0 <= id && id < canon.Slots {
				f.holdings[id] = append(f.holdings[id], holding{owner, n.Server})
			}
		}
	}
}

func (f *Fleet) server(member string, t time.Time) (at time.Time, within time.Duration) {
	all := f.clocks[member]
	if len(all) == 0 {
		return t, 0
	}
	i := max(sort.Search(len(all), func(i int) bool { return all[i].at.After(t) })-1, 0)
	return t.Add(all[i].ahead), all[i].within
}

// cut returns the end of an exchange: that of its record, or the time when another member took the slot if that is
// earlier. A busy slot is taken only from a silent member, such as a frozen process, which reads old bytes late.
func (f *Fleet) cut(member string, slot int, from, to time.Time) time.Time {
	for _, h := range f.holdings[slot] {
		if h.member != member && h.member != "" && h.from.After(from) && h.from.Before(to) {
			return h.from
		}
	}
	return to
}

// owned reports whether a member owned a slot at some time between two.
func (f *Fleet) owned(member string, slot int, from, to time.Time) bool {
	ok := false
	for _, h := range f.holdings[slot] {
		switch {
		case !h.from.After(from):
			ok = h.member == member
		case !h.from.After(to):
			ok = ok || h.member == member
		}
	}
	return ok
}

// span is a time in which a member leaves no room for another at a host: no pause in it is twice the delay.
type span struct {
	member   string
	url      string
	at       finding.Place
	from, to time.Time     // by the server's clock,
	within   time.Duration // up to this error
	due      time.Duration // the delay
}

func (f *Fleet) Exchange(_ context.Context, e *evidence.Exchange, found finding.Report) error {
	if e.Began.IsZero() {
		return nil
	}
	if f.spans == nil {
		f.spans = map[string][]span{}
		for _, all := range f.holdings {
			slices.SortStableFunc(all, func(a, b holding) int { return a.from.Compare(b.from) })
		}
	}
	from, within := f.server(f.Member, e.Began)
	slack := within + pauses.Slack(0)
	to := from.Add(e.Took)
	if a, err := canon.ParseAuthority(e.Authority); err == nil && len(f.clocks[f.Member]) > 0 {
		if !f.owned(f.Member, a.Slot(), from.Add(-slack), from.Add(e.Resolution+slack)) {
			found(finding.Finding{
				Code: finding.Owner, Authority: e.Authority, URL: e.URL, Place: e.Place, Time: e.Began,
				Required: "requests only to hosts that the member owns (guide to fleets)",
				Observed: f.Member + " did not own slot " + strconv.Itoa(a.Slot()) + ", by the marks of all members",
			})
		}
		to = f.cut(f.Member, a.Slot(), from.Add(slack), to)
	}
	all := f.spans[e.Authority]
	if n := len(all) - 1; n >= 0 && all[n].member == f.Member && !from.Before(all[n].from) && from.Sub(all[n].to) < 2*min(all[n].due, e.Due) {
		last := &all[n]
		if to.After(last.to) {
			last.to = to
		}
		last.due, last.within = e.Due, max(last.within, within)
		return nil
	}
	f.spans[e.Authority] = append(all, span{f.Member, e.URL, e.Place, from, to, within, e.Due})
	return nil
}

func (f *Fleet) Close(_ context.Context, r *Result, found finding.Report) error {
	var vague int64
	var widest time.Duration
	for _, authority := range slices.Sorted(maps.Keys(f.spans)) {
		all := f.spans[authority]
		slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.member, b.member)) })
		last := all[0] // to end
		for _, s := range all[1:] {
			if s.member != last.member && (s.member == f.Member || last.member == f.Member) {
				if !s.after(last, authority, found) {
					vague++
					widest = max(widest, last.within+s.within)
				}
			}
			if s.to.After(last.to) {
				last = s
			}
		}
	}
	if f.Last {
		for _, name := range f.Missing {
			found(finding.Finding{Code: finding.MemberMissing, Required: "the directories of all members", Observed: "that of " + name + " is not given"})
		}
	}
	switch {
	case len(f.clocks) == 0:
		r.CannotShow = append(r.CannotShow, "between members: whether their clocks agreed, and whether there are members whose directory was not given")
	case vague > 0:
		r.CannotShow = append(r.CannotShow, fmt.Sprintf("between members: %d delays, because the marks give their clocks only to within %v", vague, finding.Round(widest)))
	}
	return nil
}

// after reports that s began too early after another member's requests. It returns false if the clocks are too vague.
func (s *span) after(last span, authority string, found finding.Report) (sure bool) {
	f := finding.Finding{Authority: authority, URL: s.url, Place: s.at, Time: s.from}
	pause, slack := s.from.Sub(last.to), last.within+s.within
	switch {
	case pause+slack < -pauses.Slack(0):
		f.Code = finding.InFlight
		f.Required = "one member of a fleet at a time with an authority (politeness rule 9)"
		f.Observed = s.member + " requested it " + finding.Round(-pause) + " before the last of the requests of " + last.member + " ended"
	case pause+slack+pauses.Slack(last.due) < last.due:
		f.Code = finding.Gap
		f.Required = "at least " + finding.Round(last.due) + " since the end of the authority's last response, to any member"
		f.Observed = finding.Round(max(pause, 0)) + " after a request of " + last.member + ", by " + s.member
	default:
		return pause-slack+pauses.Slack(last.due) >= last.due
	}
	found(f)
	return true
}

// NotRead notes files at or below the folder of a crawl's archive that are not audited. An unread WARC file is a violation,
// for its exchanges would go unseen; files that the crawl leaves after damage or a kill are not.
func NotRead(dir string, files []string) Witness { return notRead{dir: dir, files: files} }

type notRead struct {
	Silent

	dir   string
	files []string
}

func (n notRead) Close(ctx context.Context, _ *Result, found finding.Report) error {
	return filepath.WalkDir(n.dir, func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		top := filepath.Dir(path) == n.dir
		if err == nil && (e.IsDir() || slices.Contains(n.files, path) || top && segment.MatchString(e.Name())) {
			return nil
		}
		f := finding.Finding{Code: finding.BadRecord, Note: true, Place: finding.Place{File: path},
			Required: "nothing but segments, *.warc and *.warc.gz, in the folder of the archive (archive reference)"}
		switch {
		case err != nil:
			f.Observed = "it cannot be read: " + err.Error()
		case !e.Type().IsRegular():
			f.Observed = "it is not a regular file, and was not read"
		case top && leftOver.MatchString(e.Name()):
			f.Observed = "not read" + sized(e) +
				": a crawl leaves such files after damage (.cut), or after a kill during an append (.spool)"
		case isWARC(path):
			f.Note, f.Observed = false, "a WARC file that was not read: move it away, or audit it separately"
		default:
			f.Observed = "a file that was not read" + sized(e)
		}
		found(f)
		return nil
	})
}

// segment matches the archive's files. A new one is of a running crawl.
var segment = regexp.MustCompile(`\.warc(\.gz)?(\.open)?$`)

// leftOver matches the damaged tail of a segment, and an exchange on its way into one.
var leftOver = regexp.MustCompile(`^curtsy-\d{5,}\.warc\.gz\.cut$|^curtsy\.\d+\.spool$`)

func sized(e fs.DirEntry) string {
	fi, err := e.Info()
	if err != nil {
		return ""
	}
	return ", of " + strconv.FormatInt(fi.Size(), 10) + " bytes"
}

func isWARC(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	in := bufio.NewReader(f)
	magic, _ := in.Peek(4) // a shorter file is not a WARC file
	// A Zstandard file may begin with a skippable frame, which holds a dictionary.
	skipped := len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
	if skipped || bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return filepath.Ext(filepath.Base(path)) == ".zst"
	}
	var from io.Reader = in
	if bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) {
		if from, err = gzip.NewReader(in); err != nil {
			return false
		}
	}
	var head [5]byte
	_, err = io.ReadFull(from, head[:])
	return err == nil && string(head[:]) == "WARC/"
}
