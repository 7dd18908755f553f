package proof

import (
	"bytes"
	"cmp"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/pauses"
	"curtsy/storage/htmlpage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// Version is the version of the Result's JSON form. Fields may be added without a new one.
const Version = 1

// Level is the strength of a proof.
type Level string

// The levels. A higher one includes the lower ones.
const (
	NoLevel        Level = "none"                    // the proof does not hold
	SelfConsistent Level = "self-consistent"         // the parts agree; the maker of the bundle could have made all of them
	Signed         Level = "signed"                  // by a key that the reader trusts
	Cosigned       Level = "cosigned"                // by a witness that the reader trusts, at a time: not rewritten since
	Confirmed      Level = "confirmed by access log" // the site's own log has the same requests
)

type Code string

const (
	BadMember      Code = "member"      // a part is missing, changed or damaged
	BadCheckpoint  Code = "checkpoint"  // it cannot be read
	BadSignature   Code = "signature"   // the known key has not signed the checkpoint
	BadCosignature Code = "cosignature" // a known witness has not cosigned it
	BadOrigin      Code = "origin"      // checkpoint and log are not of one crawl
	BadMark        Code = "mark"        // a mark is invalid or misplaced
	BadInclusion   Code = "inclusion"   // the lines are not in the log
	BadMap         Code = "map"         // the completeness map contradicts the bundle
	Omitted        Code = "omitted"     // the lines are not all that the map has
	OtherHost      Code = "other-host"  // a line is of another host
	BadLine        Code = "line"        // a line cannot be read
	Unredacted     Code = "redaction"   // a line was taken out, and no mark names it
	BadHeads       Code = "heads"       // the heads of an exchange are not those of its line
	BadRobots      Code = "robots-txt"  // a robots.txt does not match its name
	BadVerdict     Code = "verdict"     // robots.txt contradicts the verdict of the line
	BadPage        Code = "page"        // the page contradicts the lines
	LogExtra       Code = "log-extra"   // the site's log has a request that no line has
	LogMissing     Code = "log-missing" // a line has a request that the site's log has not
)

type Finding struct {
	Code  Code   `json:"code"`
	Entry *int64 `json:"entry,omitempty"` // the index of the line it is about
	Text  string `json:"text"`
}

const maxFindings = 20 // kept of a code; all are counted

type Result struct {
	Version int   `json:"version"`
	Holds   bool  `json:"holds"`
	Level   Level `json:"level"`

	Host     string    `json:"host"`
	Software string    `json:"software,omitempty"` // the software named as the bundle's maker
	Origin   string    `json:"origin,omitempty"`
	Size     int64     `json:"size"` // entries of the log
	Root     string    `json:"root,omitempty"`
	AsOf     time.Time `json:"as_of,omitzero"` // of the completeness map, by the crawler's clock
	Covered  int64     `json:"covered"`        // entries of the log that the map is of
	Hosts    int64     `json:"hosts"`          // in the map
	Absent   bool      `json:"absent"`         // the log has no line of the host

	PageChecked bool `json:"page_checked"` // no other version of the program made the page

	Signers   []Signer    `json:"signers,omitempty"` // those of the checkpoint, and those whose keys were given
	Killed    int64       `json:"runs_killed"`       // runs that did not end cleanly, by the marks
	Redaction []Redaction `json:"redactions,omitempty"`

	Summary *Summary       `json:"lines"`
	Heads   Heads          `json:"heads"`
	Robots  RobotsCheck    `json:"robots"`
	Log     *audit.HostLog `json:"access_log,omitempty"`

	Counts     map[Code]int64 `json:"counts,omitempty"`
	Findings   []Finding      `json:"findings,omitempty"`
	CannotShow []string       `json:"cannot_show"`
}

// Signer is a name under the checkpoint, or one whose key was given.
type Signer struct {
	Name    string    `json:"name"`
	Known   bool      `json:"known"`               // its key was given, and the signature is right
	Witness bool      `json:"witness"`             // it cosigned, or should have
	Time    time.Time `json:"time,omitzero"`       // of a cosignature
	By      string    `json:"key_given,omitempty"` // the key that was given, where a rotation leads from it to this one
}

type Redaction struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	Lines  int64     `json:"lines"`
}

// Heads counts exchanges by the state of their heads.
type Heads struct {
	Right      int64 `json:"right"`      // there, and as their lines bind them
	NotThere   int64 `json:"not_there"`  // bound by their lines, and not in the bundle
	Unprovable int64 `json:"unprovable"` // their lines bind none
}

// RobotsCheck counts recomputed verdicts.
type RobotsCheck struct {
	Right      int64 `json:"right"`
	Unprovable int64 `json:"unprovable"` // the text, or the crawler's name, is not in the bundle
}

func (r *Result) found(c Code, format string, args ...any) { r.at(c, -1, format, args...) }

func (r *Result) at(c Code, index int64, format string, args ...any) {
	if r.Counts == nil {
		r.Counts = map[Code]int64{}
	}
	if r.Counts[c]++; r.Counts[c] > maxFindings {
		return
	}
	f := Finding{Code: c, Text: fmt.Sprintf(format, args...)}
	if index >= 0 {
		f.Entry = &index
	}
	r.Findings = append(r.Findings, f)
}

func (r *Result) signer(k checkpoint.Key) *Signer {
	i := slices.IndexFunc(r.Signers, func(s Signer) bool { return s.Name == k.Name() })
	if i < 0 {
		i = len(r.Signers)
		r.Signers = append(r.Signers, Signer{Name: k.Name()})
	}
	return &r.Signers[i]
}

// Summary sums up the lines of a host. Maker and verifier compute it, so that the page can be checked.
type Summary struct {
	Lines     int64     `json:"lines"`
	Redacted  int64     `json:"redacted,omitempty"` // redacted lines: only their hashes remain
	Exchanges int64     `json:"exchanges"`          // requests that were made, or tried
	Robots    int64     `json:"robots"`             // of those, for robots.txt
	Answered  int64     `json:"answered"`           // of all, those with a status
	Octets    int64     `json:"octets"`             // received
	Avoided   int64     `json:"avoided"`            // URLs that were not requested, for any reason
	Forbidden int64     `json:"forbidden"`          // of those, because of robots.txt
	From      time.Time `json:"from,omitzero"`      // the first line
	To        time.Time `json:"to,omitzero"`        // the last

	Agents   []string  `json:"user_agents,omitempty"` // as sent, the first ones
	Statuses []Tally   `json:"statuses,omitempty"`
	Reasons  []Tally   `json:"refusals,omitempty"` // why URLs were not requested
	Pauses   Pauses    `json:"pauses"`
	Texts    []Text    `json:"robots_txt,omitempty"` // the robots.txt files that lines name
	Asked    []Visit   `json:"-"`                    // the first of them
	Left     []Avoided `json:"-"`                    // the first of them

	spans map[string][]span // by authority
	texts map[string]int    // place in Texts by digest
}

type Tally struct {
	What  string `json:"what"`
	Count int64  `json:"count"`
}

type Text struct {
	SHA256  string    `json:"sha256"`
	First   time.Time `json:"first,omitzero"` // the first line that names it
	Judged  int64     `json:"judged"`         // URLs judged by it
	Bundled bool      `json:"bundled"`        // the text itself is in the bundle

	body []byte // its beginning, for the page
}

// Visit is a request, and Avoided a URL that was not requested, on the page.
type (
	Visit struct {
		Time   time.Time
		URL    string
		Status int
		Octets int64
		Gap    time.Duration
	}
	Avoided struct {
		Time   time.Time
		URL    string
		Reason string
	}
)

// Pauses are those from the end of a request to the begin of the next to an authority, by the times of lines.
type Pauses struct {
	Count    int64         `json:"count"`
	Shortest time.Duration `json:"shortest_ns"`
	Median   time.Duration `json:"median_ns"`
	Below    int64         `json:"below_due"` // shorter than due by the lines, by more than a millisecond
}

// Bounds of a summary.
const (
	maxShown  = 200
	maxLeft   = 100
	maxAgents = 8
	maxTally  = 200
	maxText   = 4 << 10 // bytes of a robots.txt
)

type span struct {
	began, ended int64 // Unix microseconds
	due          time.Duration
}

func newSummary() *Summary { return &Summary{spans: map[string][]span{}, texts: map[string]int{}} }

func (s *Summary) take(l *storage.Line) {
	s.Lines++
	if s.From.IsZero() || l.Time.Before(s.From) {
		s.From = l.Time
	}
	if l.Time.After(s.To) {
		s.To = l.Time
	}
	s.text(l)
	if l.Attempt == 0 {
		s.avoided(l)
		return
	}
	s.Exchanges++
	s.Octets += max(l.Octets, 0)
	if l.Decision == storage.DecisionRobots {
		s.Robots++
	}
	if l.Status > 0 {
		s.Answered++
		s.Statuses = count(s.Statuses, strings.TrimSpace(strconv.Itoa(l.Status)+" "+http.StatusText(l.Status)), 1)
	}
	if len(s.Asked) < maxShown {
		s.Asked = append(s.Asked, Visit{l.Time, l.URL, l.Status, l.Octets, l.Gap})
	}
	if !l.Began.IsZero() {
		at := authority(l.URL)
		s.spans[at] = append(s.spans[at], span{l.Began.UnixMicro(), l.Began.Add(l.Took).UnixMicro(), l.Pace})
	}
}

func (s *Summary) avoided(l *storage.Line) {
	n := max(l.Count, 1)
	s.Avoided += n
	if l.Decision == storage.DecisionDisallow {
		s.Forbidden += n
	}
	s.Reasons = count(s.Reasons, refusal(l), n)
	if len(s.Left) < maxLeft {
		s.Left = append(s.Left, Avoided{l.Time, l.URL, refusal(l)})
	}
}

func refusal(l *storage.Line) string {
	switch {
	case l.Decision == storage.DecisionDisallow && l.RobotsRule != "":
		return "robots.txt line " + strconv.Itoa(l.RobotsLine) + ": " + l.RobotsRule
	case l.Decision == storage.DecisionDisallow:
		return "robots.txt: " + l.Reason
	case l.Decision == storage.DecisionOptOut:
		return "opt-out: " + l.RobotsRule
	case l.Reason == "":
		return string(l.Decision)
	}
	return string(l.Decision) + ": " + l.Reason
}

func (s *Summary) text(l *storage.Line) {
	if !ledger.IsDigest(l.RobotsSHA256) {
		return
	}
	i, known := s.texts[l.RobotsSHA256]
	if !known {
		if len(s.Texts) == maxTexts {
			return
		}
		i = len(s.Texts)
		s.texts[l.RobotsSHA256] = i
		s.Texts = append(s.Texts, Text{SHA256: l.RobotsSHA256, First: l.Time})
	}
	if l.Decision != storage.DecisionRobots {
		s.Texts[i].Judged += max(l.Count, 1)
	}
}

func (s *Summary) bundled(sha string, body []byte) {
	if i, ok := s.texts[sha]; ok {
		s.Texts[i].Bundled, s.Texts[i].body = true, bytes.Clone(body[:min(len(body), maxText)])
	}
}

func (s *Summary) head(h Head) {
	if agent := agentOf(h.Request); agent != "" && len(s.Agents) < maxAgents && !slices.Contains(s.Agents, agent) {
		s.Agents = append(s.Agents, agent)
	}
}

func (s *Summary) close() {
	var all []time.Duration
	for _, spans := range s.spans {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(a.ended, b.ended)) })
		ended := int64(0)
		for i, x := range spans {
			if i > 0 {
				gap := time.Duration(max(x.began-ended, 0)) * time.Microsecond
				all = append(all, gap)
				if gap+time.Millisecond < x.due {
					s.Pauses.Below++
				}
			}
			ended = max(ended, x.ended)
		}
	}
	s.spans = nil
	if slices.Sort(all); len(all) > 0 {
		s.Pauses.Count, s.Pauses.Shortest, s.Pauses.Median = int64(len(all)), all[0], pauses.Median(all)
	}
	byCount := func(a, b Tally) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.What, b.What)) }
	slices.SortFunc(s.Statuses, byCount)
	slices.SortFunc(s.Reasons, byCount)
}

// count adds to a tally; the last entry, "others", takes those beyond maxTally.
func count(all []Tally, what string, n int64) []Tally {
	for i := range all {
		if all[i].What == what {
			all[i].Count += n
			return all
		}
	}
	switch {
	case len(all) > maxTally:
		all[maxTally].Count += n
		return all
	case len(all) == maxTally:
		what = "others"
	}
	return append(all, Tally{what, n})
}

func agentOf(request []byte) string {
	agent := ""
	warc.EachField(request, func(name, value []byte) {
		if agent == "" && strings.EqualFold(string(name), "User-Agent") {
			agent = strings.TrimSpace(latin1(value))
		}
	})
	return agent
}

func authority(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		rest = rest[:i]
	}
	return strings.ToLower(scheme + "://" + rest)
}

//go:embed page.html
var pageHTML string

type sheet struct {
	*Summary
	Host, Origin string
	Size, Hosts  int64
	Past         int64 // entries that the map is not of
	AsOf         time.Time
	MoreAsked    int64
	MoreLeft     int64
}

// render writes the page of a bundle. The same lines give the same bytes: it has no version and no date of creation.
func render(n *checkpoint.Note, hosts *mark, host string, s *Summary) ([]byte, error) {
	t, err := htmlpage.New(template.FuncMap{
		"plain": plainly.OneLine, "lines": plainly.Lines, "count": plainly.Count[int64], "at": at,
		"pause": func(d time.Duration) string { return plainly.Seconds(d.Seconds()) }, // cut and never rounded up
		"body":  func(t Text) string { return string(t.body) },
		"cut":   func(t Text) bool { return len(t.body) == maxText },
	}).Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("proof: page: %w", err)
	}
	of := sheet{Summary: s, Host: host, Origin: n.Origin, Size: n.Size, Hosts: hosts.Hosts, AsOf: hosts.Time,
		Past:      n.Size - 1 - hosts.Size,
		MoreAsked: s.Exchanges - int64(len(s.Asked)), MoreLeft: max(s.Avoided-int64(len(s.Left)), 0)}
	var b bytes.Buffer
	if err := t.Execute(&b, of); err != nil {
		return nil, fmt.Errorf("proof: page: %w", err)
	}
	return b.Bytes(), nil
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
