package reconcile

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// Nothing is requested that an entry in force refuses: one of the list in the crawl directory, or one that a line before
// names. What was under way when the list changed is allowed, and nothing outlasts its list.
func TestRule16_RequestsThatOptedOut(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const list = "a.test # asked\n.b.test\n192.0.2.0/24\nc.test/private/\nd.test/page$\ne.test:8080\nhttps://f.test\n[2001:db8::7]\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, optOutName), []byte(list), 0o644))
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(list)))
	run := func(digest string) func(o *optedOut) {
		return func(o *optedOut) { o.mark(&ledger.Mark{Kind: ledger.KindRun, Time: at, OptOuts: digest}) }
	}
	change := func(digest string) func(o *optedOut) {
		return func(o *optedOut) {
			o.mark(&ledger.Mark{Kind: ledger.KindOptOuts, Time: at.Add(time.Minute), SHA256: digest})
		}
	}
	asked := func(url, addr string, after time.Duration) func(o *optedOut) {
		return func(o *optedOut) {
			l := storage.Line{URL: url, Record: "urn:uuid:1", Began: at.Add(after), Time: at.Add(after + time.Second)}
			if addr != "" {
				l.Addr = netip.AddrPortFrom(netip.MustParseAddr(addr), 80)
			}
			o.line(&l, "line")
		}
	}
	refused := func(url, rule string, after time.Duration) func(o *optedOut) {
		return func(o *optedOut) {
			o.line(&storage.Line{URL: url, Decision: storage.DecisionOptOut, List: "one", RobotsRule: rule, Time: at.Add(after)}, "line")
		}
	}
	const s = time.Second
	for name, c := range map[string]struct {
		steps []func(o *optedOut)
		want  int
	}{
		"a host":                            {[]func(*optedOut){run(sum), asked("http://a.test:81/robots.txt", "", s)}, 1},
		"its subdomain is another":          {[]func(*optedOut){run(sum), asked("http://www.a.test/", "", s)}, 0},
		"a domain":                          {[]func(*optedOut){run(sum), asked("http://b.test/", "", s), asked("http://x.y.b.test/", "", s), asked("http://xb.test/", "", s)}, 2},
		"a network":                         {[]func(*optedOut){run(sum), asked("http://n.test/", "192.0.2.7", s), asked("http://n.test/", "192.0.3.7", s), asked("http://192.0.2.9/", "", s)}, 2},
		"an address":                        {[]func(*optedOut){run(sum), asked("http://[2001:db8::7]/", "", s), asked("http://n.test/", "2001:db8::8", s)}, 1},
		"a path, in any spelling":           {[]func(*optedOut){run(sum), asked("http://c.test/%70rivate/x", "", s), asked("http://c.test/public", "", s)}, 1},
		"a page":                            {[]func(*optedOut){run(sum), asked("http://d.test/page", "", s), asked("http://d.test/page/2", "", s)}, 1},
		"a port":                            {[]func(*optedOut){run(sum), asked("http://e.test:8080/", "", s), asked("http://e.test/", "", s)}, 1},
		"a scheme":                          {[]func(*optedOut){run(sum), asked("https://f.test/", "", s), asked("http://f.test/", "", s)}, 1},
		"the list is another":               {[]func(*optedOut){run("other"), asked("http://a.test/", "", s)}, 0},
		"the list changed to it":            {[]func(*optedOut){run(""), asked("http://a.test/", "", s), change(sum), asked("http://a.test/", "", 59*s), asked("http://a.test/", "", 61*s), asked("http://a.test/", "", 121*s)}, 1},
		"the list changed from it":          {[]func(*optedOut){run(sum), change("other"), asked("http://a.test/", "", 200*s)}, 0},
		"a line":                            {[]func(*optedOut){run("one"), asked("http://g.test/1", "", s), refused("http://g.test/2", "g.test", 2*s), asked("http://g.test/3", "", 3*s)}, 1},
		"a line, and the list changed":      {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test", 2*s), change("two"), asked("http://g.test/3", "", 90*s)}, 0},
		"a line, and the next run has it":   {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test", 2*s), run("one"), asked("http://g.test/3", "", 90*s)}, 1},
		"a line, and the next run has none": {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test", 2*s), run(""), asked("http://g.test/3", "", 90*s)}, 0},
		"a line with a reason":              {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test # asked by mail", 2*s), asked("http://g.test/3", "", 3*s)}, 1},
		"a line of the list before":         {[]func(*optedOut){run("one"), change("two"), refused("http://g.test/2", "g.test", 61*s), asked("http://g.test/3", "", 62*s)}, 0},
		"a line of one of several lists":    {[]func(*optedOut){run("all"), change("all2"), refused("http://g.test/2", "g.test", 121*s), asked("http://g.test/3", "", 122*s)}, 1},
		"a network that is a line":          {[]func(*optedOut){run("one"), refused("http://198.51.100.1/", "198.51.100.9/24", s), asked("http://n.test/", "198.51.100.2", 62*s), asked("http://n.test/", "::ffff:198.51.100.3", 62*s), asked("http://n.test/", "198.51.101.3", 62*s)}, 2},
		"a line of another host":            {[]func(*optedOut){run("one"), refused("http://x.h.test/", ".h.test", 2*s), asked("http://y.h.test/", "", 3*s), asked("http://y.h.test/", "", 63*s)}, 1},
	} {
		var o optedOut
		o.open(dir)
		for _, step := range c.steps {
			step(&o)
		}
		found := 0
		o.judge(func(f finding.Finding) {
			if found++; f.Code != finding.OptOuts || f.Note {
				t.Errorf("%s: %+v", name, f)
			}
		})
		if found != c.want {
			t.Errorf("%s: %d found, want %d", name, found, c.want)
		}
	}
}
