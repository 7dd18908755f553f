package evidence

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/hostrule"
	"curtsy/storage/warc"
)

// Exchange is a request and its result, joined from their records.
type Exchange struct {
	finding.Place               // of the response or revisit; of the request if no answer came
	Request       finding.Place // of the request record; zero without one
	URL           string        // WARC-Target-URI, as written
	Authority     string        // scheme://host:port, in lower case, the port left out when it is the scheme's own; "" for no http URL
	Target        string        // path and query as sent, or, without a request record, as in URL

	Began      time.Time     // WARC-Date
	Resolution time.Duration // of Began: the true instant lies in [Began, Began+Resolution)
	Took       time.Duration // until the last byte, valid when Ended
	Ended      bool          // the archive says when the exchange ended

	Method   string // "" without a request record
	Agent    string // User-Agent, as sent
	Host     string // Host, as sent, or of a request line with a whole URL
	Status   int    // 0 without an answer
	Answered bool
	Revisit  string // the revisit's WARC-Profile; "" for a response
	Addr     netip.Addr
	Octets   int64    // of the response's block
	Payload  string   // WARC-Payload-Digest as written, "" without one
	Cut      string   // WARC-Truncated
	Whole    bool     // the block holds all bytes received: it is not a revisit of a payload, and no body was left out
	Types    []string // the values of Content-Type
	Blocks   string   // binds the blocks, as storage.Line.Blocks does; "" when a record has no digest in SHA-256

	Heads string // as storage.Line.Heads, computed from the records; "" if they lack the values

	LeftOut string        // id of a response that request and metadata name and the archive lacks; "" if none
	Damaged finding.Place // of an unreadable record of this exchange; its Record is "" if even its head is unreadable
	Repeats string        // id of the response whose payload a revisit repeats, if the archive has neither its body nor its digest

	// Since is not zero if the crawl reports a shorter delay than its records show: it is the end of the authority's last
	// archived exchange, and the crawl itself recorded a later one before this.
	Since time.Time

	Stepped bool // its file records that the clock was set back before it

	Due time.Duration // the delay that its host requires between any two exchanges

	Own    bool          // its host is the operator's own
	Robots bool          // it requested robots.txt, or the target of its redirect
	Line   *storage.Line // the decision in the metadata record; nil without one
	LineAt finding.Place // of the metadata record
	Hops   string        // hopsFromSeed of the metadata record, as Heritrix writes it: L for a link, E for an embed, R for a redirect

	Sent     RequestHead
	Answer   AnswerHead
	Body     int64 // bytes after the head in the block of the answer
	Bodyless bool  // the body was not in the record

	RequestURL  string // of the request record, if it differs from the answer's
	HasRequest  bool   // it has the request record
	HasAnswer   bool   // the response or revisit
	HasMetadata bool   // the metadata record
	Last        bool   // it is the last in its file

	Kept       bool // Text is the body, or TextFault explains its absence
	Text       Text // of a possible robots.txt
	TextFault  string
	OwnerProof bool   // the body has the form of an owner's proof
	Incomplete string // why the body is incomplete; "" if nothing shows that it is
	Unframed   string // where the body of an answer of this crawler does not end as its head requires; "" if nowhere

	Alone string // the type of a record that keeps a URL's content without an exchange

	sums  [3]blockSum // of request, answer and metadata
	heads [3]heading  // of the same
	bound heads
	ours  bool // its file is of this crawler
}

// CutUnread is the WARC-Truncated of a response that this crawler discarded as invalid HTTP.
const CutUnread = "unspecified"

// Unread reports whether this crawler says that the response was invalid HTTP. It may have a head nevertheless.
func (e *Exchange) Unread() bool {
	return e.Cut == CutUnread && (e.Line == nil || e.Line.Reason == "protocol")
}

// End returns when the exchange ended, or when it began if only that is known.
func (e *Exchange) End() time.Time { return e.Began.Add(e.Took) }

// Info has the fields of a warcinfo record about the crawl.
type Info struct {
	finding.Place
	Ours      bool           `json:"ours"` // software is this crawler
	Software  string         `json:"software,omitempty"`
	Operator  string         `json:"operator,omitempty"`
	Agent     string         `json:"user_agent,omitempty"`
	Standard  string         `json:"robots,omitempty"` // as declared
	Token     string         `json:"product_token,omitempty"`
	Floor     time.Duration  `json:"-"` // between exchanges of a host that is not own
	IPDelay   time.Duration  `json:"-"`
	MaxDelay  time.Duration  `json:"-"` // the longest Crawl-delay that the crawl waits for; 0 if not recorded
	Terms     hostrule.Rules `json:"-"` // that the operator set only for some hosts
	Windows   hostrule.Spans `json:"-"` // the crawl sends requests only in these
	OwnSites  string         `json:"own_sites,omitempty"`
	Findings  bool           `json:"-"` // of a link check: it does not back off from own hosts after errors
	ConfigSHA string         `json:"config_sha256,omitempty"`
	LedgerKey string         `json:"-"`
	Proxy     string         `json:"proxy,omitempty"` // that requests went through, as declared; the last of several
	// Credentials are the hosts that requests had credentials for, as declared, and the fields of each: "https://HOST: Authorization".
	Credentials []string `json:"credentials,omitempty"`
	// Fields are all fields as written, in their order, bounded in number and length.
	Fields [][2]string `json:"fields"`

	anyWindow bool // one of them is unreadable

	AtOnce int `json:"-"` // the maximum of concurrent exchanges; 0 if not recorded

	Date     time.Time `json:"-"` // WARC-Date of its record
	RunBegan time.Time `json:"-"`
	SHA256   string    `json:"-"` // of its block, in hexadecimal digits
}

// Asked returns the target of e's request: that of its request line, at the host of its URL.
func (e *Exchange) Asked() URL { return requestURL(e.Authority, e.Target) }

// OtherHost reports whether a request names another host than the URL of its record, so that its target is there.
func (e *Exchange) OtherHost() bool {
	if e.Host == "" { // not recorded
		return false
	}
	scheme, own, _ := strings.Cut(e.Authority, "://")
	if e.Host == own {
		return false
	}
	p, err := ParseURL(scheme + "://" + e.Host + "/")
	return err != nil || !sameAuthority(p.Authority, e.Authority)
}

// names takes a request's Host. The first of several that differs from the URL's counts.
func (e *Exchange) names(value []byte) {
	if e.Host == "" || !e.OtherHost() {
		e.Host = string(bytes.TrimSpace(value[:min(len(value), 2*maxHost)]))
	}
}

func (e *Exchange) Finding(c finding.Code, required, observed string) finding.Finding {
	return finding.Finding{Code: c, Authority: e.Authority, URL: e.URL, Place: e.Place, Time: e.Began,
		Required: required, Observed: observed}
}

// heads computes the value that storage.Line.Heads binds, of an exchange of this crawler.
type heads struct {
	request hash.Hash // of the request's block; nil without one
	answer  []byte    // the head of the answer; nil without a whole one
}

// bindHeads computes Heads once the records are joined. It stays "" without a decision, or if the response is left out.
func (e *Exchange) bindHeads() {
	if e.Line == nil || e.LeftOut != "" || !e.ours {
		return
	}
	sum := e.bound.request
	if sum == nil {
		sum = sha256.New()
	}
	if e.Line.Status != 0 { // a response that is not HTTP may begin like a head
		sum.Write(e.bound.answer) // never fails
	}
	e.Heads = hex.EncodeToString(sum.Sum(nil))
	e.bound = heads{}
}

// HeadsDiffer returns a finding if the digest of the heads in the metadata is not that of the records.
func (e *Exchange) HeadsDiffer() (finding.Finding, bool) {
	if e.Heads == "" || e.Line.Heads == "" || e.Line.Heads == e.Heads {
		return finding.Finding{}, false
	}
	f := e.Finding(finding.Digest, "headsSha256 of the request and the answer's head (archive reference): "+e.Heads,
		"the metadata has "+finding.Short(e.Line.Heads))
	f.Place = e.LineAt
	return f, true
}

// windowSize is how many exchanges may wait for their other records. This crawler writes those of an exchange together;
// one that writes records as its workers deliver them rarely has more at once.
const windowSize = 16

func (rd *Reader) join(h *partial) {
	s := rd.cur
	var to *partial
	for i := len(s.window) - 1; i >= 0; i-- {
		if w := s.window[i]; w.belongs(h) && (to == nil || w.URL == h.URL) {
			if to = w; w.URL == h.URL {
				break // rather this one than one of another URL: the records along a redirect may all name each other
			}
		}
	}
	if to != nil {
		to.merge(h)
		rd.Expect(&to.Exchange)
		s.settle()
		return
	}
	rd.Expect(&h.Exchange)
	s.window = append(s.window, h)
	s.flush(windowSize)
}

func (s *stream) settle() {
	for len(s.window) > 0 {
		if w := s.window[0]; w.Alone == "" && (!w.HasMetadata || !w.HasRequest || !w.HasAnswer && !s.ours()) {
			return
		}
		s.flush(len(s.window) - 1)
	}
}

// flush passes on the first exchanges of the window until at most n are left.
func (s *stream) flush(n int) {
	for len(s.window) > n {
		h := s.window[0]
		h.bindHeads()
		h.bindBlocks()
		if s.lost.File != "" && h.ours && (!h.HasRequest || !h.HasMetadata || h.LeftOut != "") {
			h.Damaged = s.lost // which is the record that it lacks
		}
		if h.after(s.lost.Offset) {
			s.lost = finding.Place{} // the next ones cannot lack it
		}
		s.queue = append(s.queue, Event{Info: s.info, Exchange: &h.Exchange})
		s.window = slices.Delete(s.window, 0, 1)
	}
}

func (h *partial) after(offset int64) bool {
	return !slices.ContainsFunc([]finding.Place{h.Place, h.Request, h.LineAt}, func(p finding.Place) bool {
		return p.File != "" && p.Offset <= offset
	})
}

// Expect notes the target of a redirect at once: if the redirect is one of robots.txt, the body there is wanted.
func (rd *Reader) Expect(e *Exchange) {
	if e.Answer.Location.Value == "" || e.Status < 300 || e.Status > 399 {
		return
	}
	to, err := Resolve(e.URL, e.Answer.Location.Value)
	if err != nil {
		return // it leads nowhere; follow reports that of a robots.txt
	}
	if len(rd.expect) >= maxExpected {
		for k := range rd.expect { // any
			delete(rd.expect, k)
			break
		}
	}
	rd.expect[to.Key] = true
}

const maxExpected = 10000

func (h *partial) belongs(g *partial) bool {
	return !(h.HasRequest && g.HasRequest || h.HasAnswer && g.HasAnswer) && h.Alone == "" && h.named(g.ids, g.to, g.URL, g.date)
}

// named reports whether an exchange's records and others name each other or, if none names any, are alike.
func (h *partial) named(ids, to []string, uri, date string) bool {
	names := func(to, ids []string) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return id != "" && slices.Contains(to, id) })
	}
	return names(to, h.ids) || names(h.to, ids) || len(to) == 0 && len(h.to) == 0 && h.URL == uri && h.date == date
}

func (h *partial) merge(g *partial) {
	h.ids, h.to = append(h.ids, g.ids...), append(h.to, g.to...)
	q, r := h, g // the request's part, the answer's part
	if g.HasRequest {
		q, r = g, h
	}
	e := r.Exchange
	if !same(q.URL, r.URL) {
		e.RequestURL = q.URL
	}
	e.Request, e.Target, e.Method, e.Agent, e.Host, e.Sent = q.Request, q.Target, q.Method, q.Agent, q.Host, q.Sent
	if !e.Addr.IsValid() {
		e.Addr = q.Addr
	}
	if !q.Began.IsZero() && (e.Began.IsZero() || q.Began.Before(e.Began)) {
		e.Began, e.Resolution = q.Began, max(e.Resolution, q.Resolution)
	}
	e.Damaged = cmp.Or(h.Damaged, g.Damaged)
	e.Line, e.LineAt, e.Hops, e.Took, e.Ended = h.Line, h.LineAt, h.Hops, h.Took, h.Ended
	e.HasMetadata, e.sums[2], e.heads[2] = h.HasMetadata, h.sums[2], h.heads[2]
	e.HasRequest, e.sums[0], e.heads[0], e.bound.request = true, q.sums[0], q.heads[0], q.bound.request
	h.Exchange = e
}

// maxTold bounds a warcinfo or metadata block, in bytes.
const maxTold = 4 << 20

// typeFields is the media type of the blocks that this crawler writes itself.
const typeFields = "application/warc-fields"

func (rd *Reader) metadata(rec *warc.Record, at finding.Place) {
	media := rec.Fields.Get("Content-Type")
	switch {
	case rec.TargetURI() == "" && rd.ours() && strings.HasPrefix(media, typeFields):
		rd.refusals(rec, at)
		return
	case !strings.HasPrefix(media, typeFields) || rec.TargetURI() == "":
		rd.stray(rec, at)
		rd.other(rec, at)
		return
	}
	h := rd.cur.whose(rec, at)
	line, hops, ended, troubles, err := rd.fields(rec)
	rd.block.rest()
	rd.digests(rec, at, line.URL)
	switch {
	case rd.block.src.err != nil:
		return // torn
	case err != nil:
		rd.bad(at, line.URL, "fields of a metadata record", err.Error())
	case len(troubles) > 0 && rd.ours(): // another writer may use these names in another sense
		rd.bad(at, line.URL, "fields as the archive reference has them", strings.Join(troubles, "; "))
	case h == nil && rd.ours():
		rd.bad(at, line.URL, "a request that the metadata record belongs to",
			"it names "+finding.Short(strings.Join(concurrent(rec), ", ")))
	}
	if h == nil {
		return
	}
	line.Began, line.Record = h.Began, h.Record
	h.HasMetadata, h.Took, h.Ended, h.Line, h.LineAt, h.Hops = true, line.Took, ended, line, at, hops
	h.sums[2], h.heads[2] = rd.block.digest(), rd.heading(rec)
	h.misses(rec)
	rd.cur.settle()
}

const maxTroubles = 10 // of one record that are named

// fields reads an exchange's metadata. ended reports whether it has the exchange's end; troubles name the invalid
// fields, which are skipped.
func (rd *Reader) fields(rec *warc.Record) (line *storage.Line, hops string, ended bool, troubles []string, err error) {
	line = &storage.Line{URL: rec.TargetURI()}
	rd.block.begin(rec, false)
	err = warcFields(&rd.block, func(name, value string) {
		bad := warc.SetField(line, name, value)
		switch {
		case bad != nil && len(troubles) < maxTroubles:
			troubles = append(troubles, bad.Error())
		case bad == nil && name == "fetchTimeMs":
			ended = true
		case bad == nil && name == "hopsFromSeed":
			hops = finding.Short(value)
		}
	})
	for _, f := range []struct {
		name string
		d    *time.Duration
	}{{"fetchTimeMs", &line.Took}, {"firstByteTimeMs", &line.FirstByte}, {"paceMs", &line.Pace}, {"gapMs", &line.Gap}} {
		if *f.d < 0 {
			*f.d, ended = 0, ended && f.name != "fetchTimeMs"
			troubles = append(troubles, f.name+" is less than nothing")
		}
	}
	line.RobotsRecord = strings.Trim(line.RobotsRecord, "<>")
	return line, hops, ended, troubles, err
}

func (s *stream) whose(rec *warc.Record, at finding.Place) *partial {
	to := concurrent(rec)
	if id := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"); id != "" {
		to = append(to, finding.Short(id))
	}
	for i := len(s.window) - 1; i >= 0; i-- {
		if w := s.window[i]; !w.HasMetadata && w.Alone == "" &&
			w.named([]string{at.Record}, to, rec.TargetURI(), rec.Fields.Get("WARC-Date")) {
			return w
		}
	}
	return nil
}

func warcFields(r *blockReader, f func(name, value string)) error {
	for left := maxTold; ; {
		r.long = r.long[:0]
		b, err := r.in.ReadSlice('\n')
		for ; errors.Is(err, bufio.ErrBufferFull) && len(r.long) <= left; b, err = r.in.ReadSlice('\n') {
			r.long = append(r.long, b...)
		}
		if len(r.long) > 0 {
			r.long = append(r.long, b...)
			b = r.long
		}
		if left -= len(b); left < 0 {
			return fmt.Errorf("more than %d bytes", maxTold)
		}
		if name, value, ok := bytes.Cut(bytes.TrimRight(b, "\r\n"), []byte(":")); ok && string(name) != "outlink" {
			f(string(name), string(bytes.TrimSpace(value)))
		}
		if err != nil { // the end; another error is in r.src
			return nil
		}
	}
}

func (rd *Reader) refusals(rec *warc.Record, at finding.Place) {
	rd.block.begin(rec, false)
	var lines []storage.Line
	if rec.Length <= maxTold {
		for l, err := range warc.ParseRefusals(rd.block.in) {
			switch {
			case rd.block.src.err != nil:
				return // torn
			case err != nil:
				rd.bad(at, "", "lines as the ledger reference defines them", err.Error())
			default:
				lines = append(lines, l)
			}
		}
	} else {
		rd.bad(at, "", fmt.Sprintf("at most %d bytes of lines in a record", maxTold), fmt.Sprint(rec.Length))
	}
	rd.block.rest()
	rd.digests(rec, at, "")
	rd.cur.flush(0) // the exchanges before it in the file
	if len(lines) > 0 {
		rd.cur.queue = append(rd.cur.queue, Event{Info: rd.cur.info, Refusals: lines, At: at})
	}
}

// Words of an exchange's line, as docs/reference/ledger.md lists them, without those of URLs that were not requested.
var (
	decisionWords = spelled("", storage.DecisionAllow, storage.DecisionRobots, storage.DecisionOwner)
	kindWords     = spelled("", storage.KindSeed, storage.KindLink, storage.KindEmbed, storage.KindRedirect,
		storage.KindSitemap, storage.KindMap, storage.KindScript)
	outcomeWords = spelled("", storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeFailed, storage.OutcomeGone,
		storage.OutcomeDropped, storage.OutcomeDeferred)
	changeWords = spelled("", storage.ChangeNew, storage.ChangeChanged, storage.ChangeUnchanged, storage.ChangeGone)
	paceWords   = spelled("", storage.ByFloor, storage.ByHostSetting, storage.ByOperator, storage.ByCrawlDelay, storage.ByRequestRate,
		storage.ByResponseTime, storage.ByAddress, storage.ByRateLimit, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots)
	restWords = spelled("", storage.ByRetryAfter, storage.ByRateLimit, storage.ByErrors, storage.ByRobots)
)

func spelled[W ~string](words ...W) (all []string) {
	for _, w := range words {
		all = append(all, string(w))
	}
	return all
}

// whyNoPage are the reasons for which a complete answer with a status of 200 to 299 is not usable.
var whyNoPage = []string{
	storage.ReasonAborted, storage.ReasonCoding, storage.ReasonIncomplete, storage.ReasonLease, storage.ReasonProtocol,
	storage.ReasonReset, storage.ReasonSlow, storage.ReasonTimeout, storage.ReasonTooSlow,
}

// Answer is the response of the exchange as the archive shows it.
type Answer struct {
	Status  int
	Whole   bool // it was answered, and nothing cut it
	LeftOut bool // a package has it not
}

// trouble is an invalid word, or one that does not fit.
type trouble struct {
	Field          string // of the metadata record
	Required, Said string
}

// Troubles returns the invalid words of an exchange's line.
func Troubles(l *storage.Line, a Answer) (all []trouble) {
	for _, f := range []struct {
		name, word string
		may        []string
	}{
		{"decision", string(l.Decision), decisionWords}, {"kind", string(l.Kind), kindWords},
		{"outcome", string(l.Outcome), outcomeWords},
		{"change", string(l.Change), changeWords}, {"paceBy", string(l.PaceBy), paceWords},
		{"restBy", string(l.RestBy), restWords},
	} {
		if !slices.Contains(f.may, f.word) {
			all = append(all, trouble{f.name, f.name + ", of a request, one of " + strings.Join(f.may[1:], ", "),
				f.word})
		}
	}
	switch {
	case l.Attempt < 0 || l.Depth < 0:
		all = append(all, trouble{"attempt", "attempt and depth, numbers from 0",
			fmt.Sprintf("attempt %d, depth %d", l.Attempt, l.Depth)})
	case (l.Rest != 0) != (l.RestBy != "") || l.Rest < 0:
		all = append(all, trouble{"restMs", "a delay together with its reason",
			fmt.Sprintf("%v by %q", l.Rest, string(l.RestBy))})
	}
	if right := outcome(l, a); right != "" {
		all = append(all, trouble{"outcome", right,
			fmt.Sprintf("outcome %q, change %q", string(l.Outcome), string(l.Change))})
	}
	return all
}

// outcome returns the outcome that a response can have if its line has another, else "". A 304 may confirm any response.
func outcome(l *storage.Line, a Answer) string {
	s, is := a.Status, l.Outcome
	if is != "" && (l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner) {
		return "no outcome for a request that is not a task"
	}
	if is == "" || a.LeftOut || s == 304 {
		return ""
	}
	page, gone, redirect := s >= 200 && s < 300, s == 404 || s == 410, s >= 300 && s < 400
	whole := a.Whole && l.Reason != storage.ReasonAborted
	switch {
	case is == storage.OutcomeFetched && !page:
		return fmt.Sprintf("an outcome for status %d: fetched is for 200 to 299", s)
	case is == storage.OutcomeRedirected && !redirect:
		return fmt.Sprintf("an outcome for status %d: redirected is for 300 to 399", s)
	case is == storage.OutcomeGone && !gone:
		return fmt.Sprintf("an outcome for status %d: gone is for 404 and 410", s)
	case is == storage.OutcomeDropped && whole && !page && !redirect:
		return fmt.Sprintf("an outcome for status %d: a dropped URL would have been usable", s)
	case is == storage.OutcomeFailed || is == storage.OutcomeDeferred:
		if whole && gone && !slices.Contains(whyNoPage, l.Reason) {
			return fmt.Sprintf("the outcome gone, for status %d", s)
		}
		if whole && page && !slices.Contains(whyNoPage, l.Reason) {
			return fmt.Sprintf("the outcome fetched, or why a whole answer with status %d was of no use", s)
		}
	}
	switch change := l.Change; {
	case change == storage.ChangeGone && is != storage.OutcomeGone:
		return "the change gone only with the outcome gone"
	case change != "" && change != storage.ChangeGone && is != storage.OutcomeFetched &&
		is != storage.OutcomeRedirected:
		return "a change of the response"
	}
	return ""
}

// Plain writes a text as both the ledger and the archive can: within a line, in UTF-8 (docs/reference/ledger.md, docs/reference/archives.md).
func Plain(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return foreignText(s)
		}
	}
	return strings.Trim(s, " ")
}

func foreignText(s string) string {
	const unknown = "\ufffd"
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, unknown))
	for strings.Contains(s, unknown+unknown) { // the archive has one for a run of invalid octets, the ledger one for each
		s = strings.ReplaceAll(s, unknown+unknown, unknown)
	}
	return strings.TrimSpace(s)
}

// quote is a verdict's quotation of a robots.txt.
type quote struct{ Rule, Group, RunnerUp string }

func (q quote) String() string {
	return fmt.Sprintf("%q of group %q before %q", q.Rule, q.Group, q.RunnerUp)
}
