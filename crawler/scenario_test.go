package crawler

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
)

type pages = map[string]crawltest.Page

// scenario is a crawl of a small web and its result. Lists in a string are separated by blanks.
type scenario struct {
	name  string
	seeds string // empty: the root of the first site
	sites []*crawltest.Site
	set   func(*world) // may be nil

	asked      map[string]string // by host, in order
	outcomes   map[string]string // of URLs without http://; several lines are separated by "; "
	ended      string            // empty: EndedDrained
	incomplete bool
	figures    map[string]int64                  // of the summary as JSON: "pages", "links_not_followed/scope:depth"
	rules      crawltest.Rules                   // zero: Floor, Partial
	offScope   bool                              // the referee does not know the links to everything
	check      func(*testing.T, *world, Summary) // may be nil
}

// playAll plays scenarios, and has the referee judge them.
func playAll(t *testing.T, scenarios []scenario) {
	for _, s := range scenarios {
		bubble(t, s.name, s.play)
	}
}

func (s scenario) play(t *testing.T) {
	seeds := strings.Fields(s.seeds)
	if len(seeds) == 0 {
		seeds = []string{"http://" + s.sites[0].Name + "/"}
	}
	w := newWorld(t, seeds, s.sites...)
	if s.set != nil {
		s.set(w)
	}
	sum := w.run()
	for host, want := range s.asked {
		if got := strings.Join(w.asked(host), " "); got != want {
			t.Errorf("%s got requests for %q, want %q", host, got, want)
		}
	}
	for url, want := range s.outcomes {
		assert.Equalf(t, want, strings.Join(w.ledger.of("http://"+url), "; "), "the ledger on %s", url)
	}
	if ended := cmp.Or(s.ended, EndedDrained); sum.EndedBy != ended || sum.Incomplete != s.incomplete {
		t.Errorf("ended by %q, incomplete %v; want %q, %v", sum.EndedBy, sum.Incomplete, ended, s.incomplete)
	}
	for name, want := range s.figures {
		if got := figure(t, sum, name); got != want {
			t.Errorf("%s: %d, want %d: %+v", name, got, want, sum)
		}
	}
	rules := s.rules
	if rules.Pace == 0 && rules.Width == 0 {
		rules.Pace, rules.Partial = Floor, true
	}
	rules.Seeds = w.seeds
	for _, row := range w.web.Referee().Judge(rules).Rows {
		if row.Verdict == crawltest.Broken && !(row.Rule == crawltest.Scope && s.offScope) {
			t.Errorf("the referee: %+v", row)
		}
	}
	if s.check != nil {
		s.check(t, w, sum)
	}
}

// figure returns a number of a summary or its status by its JSON name, zero if it is omitted.
func figure(t *testing.T, s Summary, name string) int64 {
	t.Helper()
	first, _, _ := strings.Cut(name, "/")
	require.Truef(t, slices.ContainsFunc(slices.Concat(reflect.VisibleFields(reflect.TypeFor[Summary]()), reflect.VisibleFields(reflect.TypeFor[status.Status]())), func(f reflect.StructField) bool {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return tag == first
	}), "a summary has no figure %q", name)
	b, err := json.Marshal(s)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(b, &all))
	path := strings.Split(name, "/")
	if _, ok := all[path[0]]; !ok {
		path = slices.Insert(path, 0, "status")
	}
	for _, key := range path[:len(path)-1] {
		all, _ = all[key].(map[string]any)
	}
	n, _ := all[path[len(path)-1]].(float64)
	return int64(n)
}

// restsWith checks that one host backs off, for a reason that contains why.
func restsWith(why string) func(*testing.T, *world, Summary) {
	return func(t *testing.T, _ *world, s Summary) {
		if r := s.Status.Resting; len(r) != 1 || !strings.Contains(r[0].Reason, why) {
			t.Errorf("resting: %+v, want one for %q", r, why)
		}
	}
}

func verdictOf(url string, line int, rule, standard string) func(*testing.T, *world, Summary) {
	return func(t *testing.T, w *world, _ Summary) {
		if l := w.line(url); l.RobotsLine != line || l.RobotsRule != rule || len(l.RobotsSHA256) != 64 || l.Standard != standard ||
			l.RobotsGroup != "*" || (l.RunnerUp == "") != (standard == "std1994") {
			t.Errorf("the line does not name the rule that decided: %+v", l)
		}
	}
}

func truncatedAs(want string) func(*testing.T, *world, Summary) {
	return func(t *testing.T, w *world, _ Summary) {
		if got := w.archive.records[1].Truncated; got != want {
			t.Errorf("truncated %q, want %q", got, want)
		}
	}
}
