package check

import (
	"context"
	"hash/maphash"
	"maps"
	"net/http"
	"strings"
	"unique"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/export"
	"curtsy/crawler/scope"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// ledgerIndex has the state of each URL in the ledger. Once it is read, it is safe for concurrent use.
type ledgerIndex struct {
	seed     maphash.Seed
	answered map[uint64]answered
	amiss    map[uint64]*state
	kept     [3]int            // states in amiss by class, at most maxStates of each
	rest     map[uint64]int64  // generations of requested URLs with problems beyond that
	hosts    map[string]bool   // of seeds, without www.
	area     *scope.Scope      // outside it are external links; nil if they are not tested
	dead     map[string]string // why an origin sent no robots.txt
	asked    int64
	crawled  map[string]int64 // by host: the latest generation with a request or a fresh URL
}

// answered is a URL without problems.
type answered struct {
	record     uint64 // digest of its record's ID; 0 without one
	generation int64
}

// state is a URL with a problem, or an unrequested one.
type state struct {
	url        string
	via        string
	kind       storage.Kind
	decision   storage.Decision
	outcome    storage.Outcome
	reason     string
	status     int
	generation int64

	verdict verdict
	to      string // final URL of a redirect
	steps   []string
	forever bool // all steps are permanent
	why     string
	code    int
	linked  bool // a document mentions it
}

// isAsked reports whether the URL was requested; s may be nil.
func (s *state) isAsked() bool { return s != nil && s.decision == storage.DecisionAllow }

// class separates redirects from other problems, so that they do not use up each other's maxStates.
func (s *state) class() int {
	switch {
	case !s.isAsked():
		return 0
	case s.outcome == storage.OutcomeRedirected:
		return 1
	}
	return 2
}

// maxStates bounds the states of a class. Unrequested URLs beyond it count as missing in the ledger.
const maxStates = 20_000

type verdict uint8

const (
	good     verdict = iota
	broken           // see why
	moved            // to a good URL
	untested         // see why
	unclear          // an external link; see why
	outside          // on another host, and not requested
)

func newLedgerIndex() *ledgerIndex {
	return &ledgerIndex{seed: maphash.MakeSeed(), answered: map[uint64]answered{}, amiss: map[uint64]*state{}, rest: map[uint64]int64{}, hosts: map[string]bool{}, dead: map[string]string{}, crawled: map[string]int64{}}
}

func (t *ledgerIndex) sum(s string) uint64 { return maphash.String(t.seed, s) | 1 }

// readLedger reads the ledger up to a generation, and judges the URLs.
func readLedger(ctx context.Context, c *export.Crawl, latest int64, area *scope.Scope) (*ledgerIndex, error) {
	t := newLedgerIndex()
	t.area = area
	err := c.Decisions(ctx, func(l *storage.Line, generation int64) error {
		if generation <= latest {
			t.line(l, generation)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.judge(latest)
	return t, nil
}

func (t *ledgerIndex) line(l *storage.Line, generation int64) {
	if l.Decision == storage.DecisionRobots {
		t.robots(l)
		return
	}
	if l.Decision == storage.DecisionOwner || l.Kind == storage.KindMap {
		return
	}
	u, err := canon.Parse(l.URL)
	if err != nil {
		return
	}
	sum := t.sum(u.Key())
	if l.Kind == storage.KindSeed || l.Kind == storage.KindRedirect && l.Depth == 0 && l.Outcome == storage.OutcomeFetched {
		t.hosts[bareHost(u)] = true
		if t.area != nil {
			t.area.Extend(u)
		}
	}
	if l.Decision == storage.DecisionAllow {
		t.crawled[u.Host()] = max(t.crawled[u.Host()], generation)
	}
	if l.Change == storage.ChangeFresh { // the earlier result still applies
		if a, ok := t.answered[sum]; ok {
			a.generation = generation
			t.answered[sum] = a
		} else if s := t.amiss[sum]; s != nil {
			s.generation = generation
		} else if _, ok := t.rest[sum]; ok {
			t.rest[sum] = generation
		}
		return
	}
	was := t.amiss[sum]
	a, wasGood := t.answered[sum]
	isAsked := l.Decision == storage.DecisionAllow
	if wasGood && a.generation == generation && !isAsked {
		return // another page also links to it, for example with nofollow
	}
	if was.isAsked() && was.generation == generation && was.outcome != storage.OutcomeDeferred &&
		(!isAsked || l.Outcome == storage.OutcomeDeferred) {
		return
	}
	if g, ok := t.rest[sum]; ok && g == generation && !isAsked {
		return
	}
	if was != nil {
		t.kept[was.class()]--
	}
	delete(t.amiss, sum)
	delete(t.rest, sum)
	delete(t.answered, sum)
	if isAsked && l.Outcome == storage.OutcomeFetched {
		t.answered[sum] = answered{record: t.sum(l.Record), generation: generation}
		return
	}
	s := &state{
		url: l.URL, via: same(l.Via), kind: same(l.Kind), decision: same(l.Decision), outcome: same(l.Outcome), reason: same(l.Reason),
		status: l.Status, generation: generation,
	}
	switch n := &t.kept[s.class()]; {
	case *n < maxStates:
		*n++
		t.amiss[sum] = s
	case isAsked:
		t.rest[sum] = generation
	}
}

// same interns a string, which many states share.
func same[S ~string](s S) S { return unique.Make(s).Value() }

// silent are failures without any response. A failed DNS lookup does not count: it may be a local problem.
var silent = map[string]bool{
	storage.ReasonNXDomain: true, storage.ReasonConnect: true, storage.ReasonNoRoute: true, storage.ReasonTimeout: true,
	storage.ReasonTLS: true, storage.ReasonTLSIssuer: true, storage.ReasonTLSName: true, storage.ReasonTLSExpired: true,
}

// robots records the result for a robots.txt: without a response, no page of the origin is requested.
func (t *ledgerIndex) robots(l *storage.Line) {
	u, err := canon.Parse(l.URL)
	if err != nil {
		return
	}
	if origin := u.Authority().Origin(); l.Status == 0 && l.Reason != "" {
		t.dead[origin] = same(l.Reason)
	} else {
		delete(t.dead, origin)
	}
}

// bareHost returns a host name without www.
func bareHost(u canon.URL) string { return strings.TrimPrefix(u.Host(), "www.") }

// judge judges all states, and drops those of earlier generations.
func (t *ledgerIndex) judge(latest int64) {
	for sum, a := range t.answered {
		if a.generation < latest {
			delete(t.answered, sum)
		}
	}
	maps.DeleteFunc(t.rest, func(_ uint64, generation int64) bool { return generation < latest })
	t.asked = int64(len(t.answered) + len(t.rest))
	for sum, s := range t.amiss {
		if s.generation < latest {
			delete(t.amiss, sum)
			continue
		}
		if s.decision == storage.DecisionAllow {
			t.asked++
		}
		s.verdict, s.why = t.verdictOf(s)
		s.code = s.status
	}
	for _, s := range t.amiss {
		if s.outcome == storage.OutcomeRedirected {
			t.follow(s)
		}
	}
}

// inconclusive are failures that do not concern the link: local or temporary ones.
var inconclusive = map[string]bool{
	storage.ReasonAborted: true, storage.ReasonLease: true, storage.ReasonPanic: true, storage.ReasonSlow: true,
	storage.ReasonNoIPv4: true, storage.ReasonNoIPv6: true, storage.ReasonProxy: true,
	storage.ReasonTooSlow: true, storage.ReasonPrivateAddress: true, storage.ReasonOptOut: true,
}

// guards are statuses of hosts that reject robots, or all clients temporarily: they do not concern the page.
var guards = map[int]bool{
	http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusProxyAuthRequired: true, http.StatusTooManyRequests: true,
	http.StatusUnavailableForLegalReasons: true, http.StatusServiceUnavailable: true,
	999: true, // LinkedIn's, in no standard
}

// areaOf returns the scope of a crawl that tests external links, without its seeds; nil if it tests none.
func areaOf(s *crawldir.Settings) (*scope.Scope, error) {
	if s.External == "" || s.External == scope.ExternalNone {
		return nil, nil
	}
	return scope.New(scope.Config{Mode: scope.Mode(s.Scope)}, nil)
}

// isLeaf reports whether a URL is an external link that the crawl tests.
func (t *ledgerIndex) isLeaf(url string) bool {
	if t.area == nil {
		return false
	}
	u, err := canon.Parse(url)
	return err == nil && !t.area.Covers(u)
}

// verdictOf judges a URL on its own.
func (t *ledgerIndex) verdictOf(s *state) (verdict, string) {
	switch s.decision {
	case storage.DecisionDisallow:
		return untested, "robots.txt forbids it"
	case storage.DecisionOptOut:
		return untested, "opted out"
	case storage.DecisionAllow:
	default:
		u, err := canon.Parse(s.url)
		if err == nil && !t.hosts[bareHost(u)] && strings.HasPrefix(s.reason, storage.RuleOfScope) {
			return outside, ""
		}
		return untested, s.reason
	}
	switch {
	case s.outcome == storage.OutcomeRedirected:
		return moved, ""
	case s.outcome == storage.OutcomeDeferred && (s.status == 0 && !silent[s.reason] || s.reason == storage.ReasonTimeout || strings.HasSuffix(s.reason, storage.ToHead)):
		return untested, "not answered yet: " + s.reason
	case guards[s.status] && t.isLeaf(s.url):
		return unclear, s.reason
	case s.status == http.StatusTooManyRequests, s.status == http.StatusServiceUnavailable:
		return untested, "the host requires a delay"
	case s.status >= 400, s.status >= 300 && s.outcome == storage.OutcomeFailed:
		return broken, s.reason
	case s.outcome == storage.OutcomeDropped, s.outcome == storage.OutcomeHeld: // it works, but was unwanted
		if s.status > 0 {
			return good, ""
		}
		return untested, s.reason
	case inconclusive[s.reason]:
		return untested, s.reason
	}
	return broken, s.reason
}

const maxSteps = 32 // redirects; crawls follow fewer

// follow judges a redirect by its final URL.
func (t *ledgerIndex) follow(s *state) {
	s.forever = true
	at, seen := s, map[*state]bool{}
	for {
		if seen[at] || len(seen) == maxSteps {
			s.verdict, s.why = broken, "redirect loop"
			return
		}
		seen[at] = true
		s.forever = s.forever && (at.status == http.StatusMovedPermanently || at.status == http.StatusPermanentRedirect)
		to, ok := strings.CutPrefix(at.reason, "to ")
		u, err := canon.Parse(to)
		if !ok || err != nil {
			s.verdict, s.why = broken, at.reason
			return
		}
		if s.to != "" {
			s.steps = append(s.steps, s.to)
		}
		s.to = u.String()
		sum := t.sum(u.Key())
		next := t.amiss[sum]
		switch {
		case next == nil:
			if _, ok := t.rest[sum]; ok {
				s.verdict, s.why = untested, "redirects to "+s.to+", which is left out"
			} else if _, ok := t.answered[sum]; !ok {
				s.verdict, s.why = untested, "redirects to "+s.to+", which was not requested"
			}
			return
		case next.outcome == storage.OutcomeRedirected:
			at = next
			continue
		case next.verdict == broken:
			s.verdict, s.why, s.code = broken, "redirects to "+s.to+": "+next.why, next.status
		case next.verdict == unclear:
			s.verdict, s.why, s.code = unclear, "redirects to "+s.to+": "+next.why, next.status
		case next.verdict == untested:
			s.verdict, s.why = untested, "redirects to "+s.to+": "+next.why
		case next.verdict == outside:
			s.verdict, s.why = untested, "redirects to "+s.to+", on another host"
		}
		return
	}
}

// final returns the key digest of the page that a URL leads to after redirects.
func (t *ledgerIndex) final(u canon.URL) (sum uint64) {
	sum = t.sum(u.Key())
	s := t.amiss[sum]
	if s == nil || s.to == "" || s.verdict == broken {
		return sum
	}
	if to, err := canon.Parse(s.to); err == nil {
		return t.sum(to.Key())
	}
	return sum
}

// of returns the state of a URL, or nil.
func (t *ledgerIndex) of(url string) *state {
	u, err := canon.Parse(url)
	if err != nil {
		return nil
	}
	return t.amiss[t.sum(u.Key())]
}

func (t *ledgerIndex) isAsked(url string) bool {
	u, err := canon.Parse(url)
	if err != nil {
		return false
	}
	sum := t.sum(u.Key())
	_, good := t.answered[sum]
	_, beyond := t.rest[sum]
	return good || beyond || t.amiss[sum].isAsked()
}

// isOutside reports whether a URL is on a host without seeds.
func (t *ledgerIndex) isOutside(url string) bool {
	u, err := canon.Parse(url)
	return err == nil && !t.hosts[bareHost(u)]
}
