package reconcile

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

func TestOptOuts_LinesNameListsInForce(t *testing.T) {
	digest := func(c string) string { return strings.Repeat(c, 64) }
	several := listsDigest([]string{digest("a"), digest("b")})
	for name, c := range map[string]struct {
		mark, change string   // of the run, and while it went on
		declared     []string // by the warcinfo record
		named        string
		want         string
	}{
		"none is named":               {mark: digest("a"), declared: []string{digest("a")}},
		"the one that was in force":   {mark: digest("a"), declared: []string{digest("a")}, named: digest("a")},
		"the one it became":           {mark: digest("a"), declared: []string{digest("a")}, change: digest("b"), named: digest("b")},
		"the one before it changed":   {mark: digest("a"), declared: []string{digest("a")}, change: digest("b"), named: digest("a")},
		"another":                     {mark: digest("a"), declared: []string{digest("a")}, named: digest("c"), want: "opt-outs"},
		"there was none":              {named: digest("c"), want: "opt-outs"},
		"one of several":              {mark: several, declared: []string{digest("a"), digest("b")}, named: digest("b")},
		"none of several":             {mark: several, declared: []string{digest("a"), digest("b")}, named: digest("c"), want: "opt-outs"},
		"one of several that changed": {mark: several, declared: []string{digest("a"), digest("b")}, change: digest("e"), named: digest("c")},
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		w := beginRun(t, ledger.Options{Dir: dir, Warcinfo: infoOf("a.warc.gz"), OptOutsSHA256: c.mark})
		if c.change != "" {
			require.NoError(t, w.OptOuts(t.Context(), c.change, 3))
		}
		refused := storage.Line{Time: time.Now().Truncate(time.Microsecond), URL: "http://a.test/", Decision: storage.DecisionRefuse, List: c.named}
		require.NoError(t, w.Append(t.Context(), refused))
		require.NoError(t, w.Close())
		l := witness(t, Options{Dir: dir})
		in := &evidence.Info{Place: finding.Place{File: "a.warc.gz"}, SHA256: infoOf("a.warc.gz")}
		for _, s := range c.declared {
			in.Fields = append(in.Fields, [2]string{"opt-out-sha256", s})
		}
		fail := func(f finding.Finding) { t.Errorf("%s: %+v", name, f) }
		require.NoError(t, l.Info(t.Context(), in, fail))
		require.NoError(t, l.Refused(t.Context(), &refused, in.Place, fail))
		_, found := witnessed(t, l)
		assert.Equalf(t, c.want, codesOf(found), "%s: %+v", name, found)
	}
}

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
	request := func(url, addr string, after time.Duration) func(o *optedOut) {
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
		"a host":                            {[]func(*optedOut){run(sum), request("http://a.test:81/robots.txt", "", s)}, 1},
		"its subdomain is another":          {[]func(*optedOut){run(sum), request("http://www.a.test/", "", s)}, 0},
		"a domain":                          {[]func(*optedOut){run(sum), request("http://b.test/", "", s), request("http://x.y.b.test/", "", s), request("http://xb.test/", "", s)}, 2},
		"a network":                         {[]func(*optedOut){run(sum), request("http://n.test/", "192.0.2.7", s), request("http://n.test/", "192.0.3.7", s), request("http://192.0.2.9/", "", s)}, 2},
		"an address":                        {[]func(*optedOut){run(sum), request("http://[2001:db8::7]/", "", s), request("http://n.test/", "2001:db8::8", s)}, 1},
		"a path, in any spelling":           {[]func(*optedOut){run(sum), request("http://c.test/%70rivate/x", "", s), request("http://c.test/public", "", s)}, 1},
		"a page":                            {[]func(*optedOut){run(sum), request("http://d.test/page", "", s), request("http://d.test/page/2", "", s)}, 1},
		"a port":                            {[]func(*optedOut){run(sum), request("http://e.test:8080/", "", s), request("http://e.test/", "", s)}, 1},
		"a scheme":                          {[]func(*optedOut){run(sum), request("https://f.test/", "", s), request("http://f.test/", "", s)}, 1},
		"the list is another":               {[]func(*optedOut){run("other"), request("http://a.test/", "", s)}, 0},
		"the list changed to it":            {[]func(*optedOut){run(""), request("http://a.test/", "", s), change(sum), request("http://a.test/", "", 59*s), request("http://a.test/", "", 61*s), request("http://a.test/", "", 121*s)}, 1},
		"the list changed from it":          {[]func(*optedOut){run(sum), change("other"), request("http://a.test/", "", 200*s)}, 0},
		"a line":                            {[]func(*optedOut){run("one"), request("http://g.test/1", "", s), refused("http://g.test/2", "g.test", 2*s), request("http://g.test/3", "", 3*s)}, 1},
		"a line, and the list changed":      {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test", 2*s), change("two"), request("http://g.test/3", "", 90*s)}, 0},
		"a line, and the next run has it":   {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test", 2*s), run("one"), request("http://g.test/3", "", 90*s)}, 1},
		"a line, and the next run has none": {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test", 2*s), run(""), request("http://g.test/3", "", 90*s)}, 0},
		"a line with a reason":              {[]func(*optedOut){run("one"), refused("http://g.test/2", "g.test # asked by mail", 2*s), request("http://g.test/3", "", 3*s)}, 1},
		"a line of the list before":         {[]func(*optedOut){run("one"), change("two"), refused("http://g.test/2", "g.test", 61*s), request("http://g.test/3", "", 62*s)}, 0},
		"a line of one of several lists":    {[]func(*optedOut){run("all"), change("all2"), refused("http://g.test/2", "g.test", 121*s), request("http://g.test/3", "", 122*s)}, 1},
		"a network that is a line":          {[]func(*optedOut){run("one"), refused("http://198.51.100.1/", "198.51.100.0/24", s), request("http://n.test/", "198.51.100.2", 62*s), request("http://n.test/", "::ffff:198.51.100.3", 62*s), request("http://n.test/", "198.51.101.3", 62*s)}, 2},
		"a narrower network later":          {[]func(*optedOut){run("one"), refused("http://192.0.2.99/", "192.0.2.0/24", s), refused("http://192.0.2.9/", "192.0.2.8/29", 100*s), request("http://n.test/", "192.0.2.10", 101*s)}, 1},
		"a line of another host":            {[]func(*optedOut){run("one"), refused("http://x.h.test/", ".h.test", 2*s), request("http://y.h.test/", "", 3*s), request("http://y.h.test/", "", 63*s)}, 1},
	} {
		var o optedOut
		o.open(dir)
		for _, step := range c.steps {
			step(&o)
		}
		for _, f := range o.findings {
			assert.Truef(t, f.Code == finding.OptOuts && !f.Note, "%s: %+v", name, f)
		}
		assert.Lenf(t, o.findings, c.want, name)
	}
	const wrong = "a.test\nno good\n" // a crawl does not take it: it cannot have been in force
	require.NoError(t, os.WriteFile(filepath.Join(dir, optOutName), []byte(wrong), 0o644))
	var o optedOut
	o.open(dir)
	run(fmt.Sprintf("%x", sha256.Sum256([]byte(wrong))))(&o)
	assert.True(t, o.unread, "a list with a mistake passes for one without entries")
}
