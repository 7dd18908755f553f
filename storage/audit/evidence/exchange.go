package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/netip"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
)

// Exchange is a request and what came of it, put together from its records.
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
	Whole    bool     // the block holds all that was received: it is no revisit of a payload, and no body was left out
	Types    []string // the values of Content-Type
	Blocks   string   // binds the blocks, as storage.Line.Blocks does; "" when a record has no digest in SHA-256

	Heads string // as storage.Line.Heads, computed from the records; "" where they do not tell

	// LeftOut is the id of an answer that request and metadata name, and that is not in the archive; "" where none is
	// missed.
	LeftOut string

	// Damaged is the place of a record of this exchange that cannot be read to its end; zero when all can. Its Record is ""
	// where not even its head can be read.
	Damaged finding.Place

	// Repeats is the id of the answer whose payload a revisit repeats, where that has no body any more and no digest of it,
	// so that nothing in the archive tells whether it is the same.
	Repeats string

	// Since is not zero where the crawl tells a shorter pause than its records show: then ended the last exchange
	// with the authority that the archive holds, and by the crawl's own words there was another one before this.
	Since time.Time

	Stepped bool // its file says that the clock was set back before it

	Due time.Duration // the pause that its host's delay asks for, between any two exchanges

	Own    bool          // its host is the operator's own
	Robots bool          // it asked for robots.txt, or for what a robots.txt redirected to
	Line   *storage.Line // the decision as the metadata record tells it; nil without one
	LineAt finding.Place // of the metadata record
}

// CutUnread is the WARC-Truncated of an answer of which a crawl of ours could make nothing: it broke HTTP.
const CutUnread = "unspecified"

// Unread reports whether a crawl of ours says that it could make nothing of the answer, which may have had a head all
// the same: one that was too long, or came behind too much.
func (e *Exchange) Unread() bool {
	return e.Cut == CutUnread && (e.Line == nil || e.Line.Reason == "protocol")
}

// End returns when the exchange ended, or when it began if that is all that is known.
func (e *Exchange) End() time.Time { return e.Began.Add(e.Took) }

// Info is what a warcinfo record says of the crawl.
type Info struct {
	finding.Place
	Ours      bool          `json:"ours"` // software is this crawler
	Software  string        `json:"software,omitempty"`
	Operator  string        `json:"operator,omitempty"`
	Agent     string        `json:"user_agent,omitempty"`
	Standard  string        `json:"robots,omitempty"` // as declared
	Token     string        `json:"product_token,omitempty"`
	Floor     time.Duration `json:"-"` // between exchanges of a host that is not own
	IPDelay   time.Duration `json:"-"`
	MaxDelay  time.Duration `json:"-"` // the longest Crawl-delay that the crawl waits for; 0 where that is not said
	Delays    []HostDelay   `json:"-"` // that the operator set for some hosts alone
	HostHours []HostHours   `json:"-"` // likewise: of the day
	HostDaily []HostDaily   `json:"-"` // likewise: requests in a day
	Windows   []Window      `json:"-"` // in which alone anybody is asked
	OwnSites  string        `json:"own_sites,omitempty"`
	Findings  bool          `json:"-"` // of a link check: it does not back off from own hosts after errors
	ConfigSHA string        `json:"config_sha256,omitempty"`
	LedgerKey string        `json:"-"`
	Proxy     string        `json:"proxy,omitempty"` // that requests went through, as declared; the last of several
	// Credentials are the hosts that requests had credentials for, as declared, and the fields of each: "https://HOST: Authorization".
	Credentials []string `json:"credentials,omitempty"`
	// Fields are all fields as written, in their order, bounded in number and length.
	Fields [][2]string `json:"fields"`

	anyWindow bool // one of them cannot be read

	AtOnce int `json:"-"` // exchanges that are under way at most; 0 where that is not said

	Date     time.Time `json:"-"` // WARC-Date of its record
	RunBegan time.Time `json:"-"`
	SHA256   string    `json:"-"` // of its block, in hexadecimal digits
}

// HostDelay is a pause that a crawl says it keeps with some hosts at least.
type HostDelay struct {
	Hosts string // a name, "*.example.org" for all below a name, or "*"
	Pause time.Duration
}

// hostDelay reads one: "5000 *.example.org".
func hostDelay(s string) (d HostDelay, ok bool) {
	ms, hosts, ok := strings.Cut(s, " ")
	return HostDelay{strings.ToLower(hosts), millis(ms)}, ok
}

// Delay is the longest pause that the crawl says it keeps with the host of an authority; zero where it says none.
func (in *Info) Delay(authority string) (d time.Duration) {
	if len(in.Delays) == 0 {
		return 0
	}
	for _, x := range in.Delays {
		if about(x.Hosts, authority) {
			d = max(d, x.Pause)
		}
	}
	return d
}

// Asked is where e's request led: what its request line asks for, at the host of its URL.
func (e *Exchange) Asked() URL { return asked(e.Authority, e.Target) }

// OtherHost reports whether a request names another host than the URL of its record does: what is asked for is there.
func (e *Exchange) OtherHost() bool {
	if e.Host == "" { // not said
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

// Finding is a finding about e.
func (e *Exchange) Finding(c finding.Code, required, observed string) finding.Finding {
	return finding.Finding{Code: c, Authority: e.Authority, URL: e.URL, Place: e.Place, Time: e.Began,
		Required: required, Observed: observed}
}

// heads is what storage.Line.Heads binds, of an exchange of ours.
type heads struct {
	asked  hash.Hash // of the request's block; nil without one
	answer []byte    // the head of the answer; nil without a whole one
}

// request has r digest the block of a request on the way.
func (h *heads) request(r *blockReader) {
	h.asked = sha256.New()
	r.src.all = h.asked
}

// take takes the head that r kept.
func (h *heads) take(r *blockReader) {
	h.answer, r.keeps = bytes.Clone(r.head), false
}

// bindHeads computes storage.Line.Heads from the records of an exchange of ours, once it is put together. It stays ""
// where they do not tell: the decision is not there, or the answer is left out.
func (h *Joined) bindHeads() {
	e := &h.Exchange
	if e.Line == nil || e.LeftOut != "" || !h.ours {
		return
	}
	sum := h.bound.asked
	if sum == nil {
		sum = sha256.New()
	}
	if e.Line.Status != 0 { // of what is no HTTP, the beginning may look like a head
		sum.Write(h.bound.answer) // never fails
	}
	e.Heads = hex.EncodeToString(sum.Sum(nil))
	h.bound = heads{}
}

// HeadsDiffer says what is wrong with the digest of the heads that the metadata of e has, if anything is. A ledger
// beside the archive tells where the digest is missing.
func (e *Exchange) HeadsDiffer() (finding.Finding, bool) {
	if e.Heads == "" || e.Line.Heads == "" || e.Line.Heads == e.Heads {
		return finding.Finding{}, false
	}
	f := e.Finding(finding.Digest, "headsSha256 of the request and the answer's head (archive reference): "+e.Heads,
		"the metadata has "+finding.Short(e.Line.Heads))
	f.Place = e.LineAt
	return f, true
}
