package forgery

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/accesslog"
)

// siteLogs writes the access logs of all sites, as their servers would have: a line for each answered exchange, by host.
func (e *evidence) siteLogs() map[string][]string {
	logs := map[string][]string{}
	for _, x := range e.exchanges("") {
		host, _, _ := strings.Cut(strings.TrimPrefix(x.url(), "http://"), "/")
		request, _, _ := strings.Cut(x.ask.block, "\r\n")
		logs[host] = append(logs[host], fmt.Sprintf("198.18.0.9 - - [%s] %q %s 12 \"-\" %q\n",
			x.began(e.t).Format("02/Jan/2006:15:04:05 -0700"), request, x.answer.block[9:12], x.agent()))
	}
	return logs
}

// agent is the User-Agent that was sent.
func (x exchange) agent() string {
	_, rest, _ := strings.Cut(x.ask.block, "\r\nUser-Agent: ")
	agent, _, _ := strings.Cut(rest, "\r\n")
	return agent
}

// honestLogs are the logs of all sites.
func honestLogs(t *testing.T, e *evidence) []accesslog.Log {
	t.Helper()
	return e.written(e.siteLogs())
}

// written puts logs into files.
func (e *evidence) written(logs map[string][]string) (all []accesslog.Log) {
	dir := e.t.TempDir()
	for _, host := range slices.Sorted(maps.Keys(logs)) {
		path := filepath.Join(dir, host+".log")
		e.put(path, strings.Join(logs[host], ""))
		all = append(all, accesslog.Log{Host: host, Path: path})
	}
	return all
}

// overlapping are the logs of e.logs, the bakery's in two files: the later begins amid the earlier.
func (e *evidence) overlapping() []accesslog.Log {
	bakery := e.logs["bakery.test"]
	delete(e.logs, "bakery.test")
	all := e.written(e.logs)
	for i, part := range [][]string{bakery[:2*len(bakery)/3], bakery[len(bakery)/3:]} {
		path := filepath.Join(e.t.TempDir(), fmt.Sprint(i))
		e.put(path, strings.Join(part, ""))
		all = append(all, accesslog.Log{Host: "bakery.test", Path: path})
	}
	e.logs["bakery.test"] = bakery
	return all
}

// together puts all logs into one file, in the order of their seconds. Lines name their hosts if something stands behind.
func (e *evidence) together(behind string) (all []accesslog.Log) {
	var lines []string
	for _, host := range slices.Sorted(maps.Keys(e.logs)) {
		for _, l := range e.logs[host] {
			if behind != "" {
				l = host + behind + l
			}
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return secondOf(e.t, a).Compare(secondOf(e.t, b)) })
	path := filepath.Join(e.t.TempDir(), "access.log")
	e.put(path, strings.Join(lines, ""))
	for _, host := range slices.Sorted(maps.Keys(e.logs)) {
		all = append(all, accesslog.Log{Host: host, Path: path})
	}
	return all
}

// secondOf is when a line was written.
func secondOf(t *testing.T, line string) time.Time {
	t.Helper()
	_, rest, _ := strings.Cut(line, "[")
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", rest[:26])
	require.NoError(t, err)
	return at
}
