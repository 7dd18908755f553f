package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/evidence"
)

// twoHosts is a crawl of two hosts whose server writes one log, as nginx's packaged configuration has it.
func twoHosts() (es []*evidence.Exchange, log []string) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, path := range []string{"/robots.txt", "/1", "/2", "/3", "/4", "/5"} {
		for j, host := range []string{"http://a.test", "http://b.test"} {
			e := asked(host+path, noon.Add(time.Duration(20*i+2*j)*time.Second), time.Second, 200)
			es, log = append(es, e), append(log, logged(e, ourAgent))
		}
	}
	return es, log
}

// TestALogThatHostsShareAccusesNobody: a file that is named for several hosts is the log of all of them, and it is still
// held against the archive of each.
func TestALogThatHostsShareAccusesNobody(t *testing.T) {
	es, log := twoHosts()
	one := strings.Replace(log[4], "/2 ", "/secret ", 1)
	named := func(host string, lines ...string) (all []string) {
		for _, l := range lines {
			all = append(all, host+" "+l)
		}
		return all
	}
	var canonical, both []string
	for i, l := range log {
		host := []string{"a.test:80", "b.test:80"}[i%2]
		both = append(both, named(host, l)...)
		canonical = append(canonical, named("www.a.test:80", l)...)
	}
	swapped := append([]string{}, both...)
	swapped[4] = strings.Replace(swapped[4], "a.test", "b.test", 1)
	for name, c := range map[string]struct {
		hosts []string
		lines []string
		want  string
		agree int
	}{
		"for both":                           {hosts: []string{"a.test", "b.test"}, lines: log, agree: 12},
		"for both, and twice":                {hosts: []string{"a.test", "B.test", "a.test"}, lines: log, agree: 12},
		"for both, and without a HOST":       {hosts: []string{"a.test", "b.test", ""}, lines: log, agree: 12},
		"with a line that the archive lacks": {hosts: []string{"a.test", "b.test"}, lines: append(log[:12:12], one), want: "log-extra", agree: 12},
		"with a line twice":                  {hosts: []string{"a.test", "b.test"}, lines: append(log[:12:12], log[4]), want: "log-extra", agree: 12},
		"without a line":                     {hosts: []string{"a.test", "b.test"}, lines: append(log[:4:4], log[5:]...), want: "log-missing", agree: 11},
		"with the host before each line":     {hosts: []string{"a.test", "b.test"}, lines: both, agree: 12},
		"with the host, for one":             {hosts: []string{"a.test"}, lines: both, agree: 6},
		"with another host before a line":    {hosts: []string{"a.test", "b.test"}, lines: swapped, want: "log-extra log-missing", agree: 11},
		"with the server's name":             {hosts: []string{"a.test", "b.test"}, lines: canonical, agree: 12},
		"with the server's name, less":       {hosts: []string{"a.test", "b.test"}, lines: append(canonical[:4:4], canonical[5:]...), want: "log-missing", agree: 11},
	} {
		path := logFile(t, strings.Join(c.lines, ""))
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(path, link); err != nil {
			t.Skip(err)
		}
		o := Options{TempDir: t.TempDir()}
		for i, h := range c.hosts {
			o.Logs = append(o.Logs, Log{Host: h, Path: []string{path, link}[i%2]})
		}
		r, found := witnessed(t, Compare(o), es...)
		if h := r.Logs[0]; codesOf(found) != c.want || len(r.Logs) != 1 || len(h.Files) != 1 || h.Lines != int64(len(c.lines)) || h.Agree != int64(c.agree) {
			t.Errorf("%s: %q, want %q; %+v\n%+v", name, codesOf(found), c.want, h, found)
		}
	}
}

// TestALogOfOneHostIsNotTakenForAShared: whoever names a log for one host is believed, and told what to do if the lines
// are those of another.
func TestALogOfOneHostIsNotTakenForAShared(t *testing.T) {
	es, log := twoHosts()
	_, found := witnessed(t, Compare(Options{TempDir: t.TempDir(), Logs: []Log{{Host: "a.test", Path: logFile(t, strings.Join(log, ""))}}}), es...)
	if len(found) == 0 || found[0].Note || !strings.Contains(found[0].Observed, "name the file for each of them") {
		t.Errorf("%+v", found)
	}
}

// TestManyHostsShareALog: more than fit into what is kept of an exchange.
func TestManyHostsShareALog(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o, text := Options{TempDir: t.TempDir()}, ""
	var es []*evidence.Exchange
	for i := range 200 {
		e := asked(fmt.Sprintf("http://a-host-with-a-long-name-%d.test/", i), noon.Add(time.Duration(i)*time.Second), 0, 200)
		es, text = append(es, e), text+logged(e, ourAgent)
	}
	path := logFile(t, text)
	for i := range es {
		o.Logs = append(o.Logs, Log{Host: fmt.Sprintf("a-host-with-a-long-name-%d.test", i), Path: path})
	}
	if r, found := witnessed(t, Compare(o), es...); len(found) > 0 || r.Logs[0].Agree != 200 {
		t.Errorf("%+v %+v", found, r.Logs[0])
	}
}

// TestAPartOfACrawlIsHeldByEachHost: an archive that may be a part of a crawl tells of each host from its first exchange
// to its last. A line that may be of a host outside of that time accuses nobody.
func TestAPartOfACrawlIsHeldByEachHost(t *testing.T) {
	es, log := twoHosts()
	later := strings.Replace(log[8], "/4 ", "/later ", 1) // behind what the archive tells of a.test, amid b.test
	for name, c := range map[string]struct {
		whole bool
		host  string
		want  string
	}{
		"a part": {want: "(log-extra)"}, "the whole": {whole: true, want: "log-extra"}, "a part, and it names b.test": {host: "b.test:80 ", want: "log-extra"},
	} {
		var part []*evidence.Exchange
		text := c.host + later
		for i, e := range es {
			if host := []string{"a.test", "b.test"}[i%2]; host == "b.test" || i < 8 {
				line := log[i]
				if c.host != "" {
					line = host + ":80 " + line
				}
				part, text = append(part, e), text+line
			}
		}
		path := logFile(t, text)
		o := Options{TempDir: t.TempDir(), Whole: c.whole, Logs: []Log{{"a.test", path}, {"b.test", path}}}
		if _, found := witnessed(t, Compare(o), part...); codesOf(found) != c.want {
			t.Errorf("%s: %q, want %q\n%+v", name, codesOf(found), c.want, found)
		}
	}
}
