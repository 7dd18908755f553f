package forgery

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/finding"
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

// beside shows the crawl with the logs of e.logs.
func beside(e *evidence) trial {
	tr := directory(e.write())
	tr.logs = e.written(e.logs)
	return tr
}

// shared shows the crawl with one log that the servers of all sites wrote together.
func shared(e *evidence) trial {
	tr := directory(e.write())
	tr.logs = e.together("")
	return tr
}

// sharedNamed shows it so, and each line names its host.
func sharedNamed(e *evidence) trial {
	tr := directory(e.write())
	tr.logs = e.together(":80 ")
	return tr
}

// overlapping shows the crawl with the logs of e.logs, the bakery's in two files: the later begins amid the earlier.
func overlapping(e *evidence) trial {
	tr := directory(e.write())
	bakery := e.logs["bakery.test"]
	delete(e.logs, "bakery.test")
	tr.logs = e.written(e.logs)
	for i, part := range [][]string{bakery[:2*len(bakery)/3], bakery[len(bakery)/3:]} {
		path := filepath.Join(e.t.TempDir(), fmt.Sprint(i))
		e.put(path, strings.Join(part, ""))
		tr.logs = append(tr.logs, accesslog.Log{Host: "bakery.test", Path: path})
	}
	e.logs["bakery.test"] = bakery
	return tr
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
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// bakeryLog makes the log of one site that which a row forges.
func (e *evidence) bakeryLog() []string {
	e.logs = e.siteLogs()
	return e.logs["bakery.test"]
}

// logRows forge an access log, or what is confirmed by one.
var logRows = []row{
	{class: inLog, name: "a request is removed of the site's log", found: finding.LogMissing, show: beside, forge: func(e *evidence) {
		e.logs["bakery.test"] = slices.Delete(e.bakeryLog(), 3, 4)
	}},
	{class: inLog, name: "the request of a page whose body was left out is removed of the log", found: finding.LogMissing, show: beside, forge: func(e *evidence) {
		log := e.bakeryLog()
		i := slices.IndexFunc(log, func(l string) bool { return strings.Contains(l, "GET /secret ") })
		e.logs["bakery.test"] = slices.Delete(log, i, i+1)
	}},
	{class: inLog, name: "a request that the archive lacks is added to the log", found: finding.LogExtra, show: beside, forge: func(e *evidence) {
		log := e.bakeryLog()
		e.logs["bakery.test"] = slices.Insert(log, 4, strings.Replace(log[3], "GET /", "GET /kitchen/", 1))
	}},
	{class: inLog, name: "a request is logged twice", found: finding.LogExtra, show: beside, forge: func(e *evidence) {
		log := e.bakeryLog()
		e.logs["bakery.test"] = slices.Insert(log, 4, log[3])
	}},
	{class: inLog, name: "another status in the log", found: finding.LogMissing, show: beside, forge: func(e *evidence) {
		log := e.bakeryLog()
		log[3] = strings.Replace(log[3], "\" 200 ", "\" 403 ", 1)
	}},
	{class: inLog, name: "another time in the log", found: finding.LogExtra, show: beside, forge: func(e *evidence) {
		log := e.bakeryLog()
		x := e.exchanges("http://bakery.test/")[0]
		at := x.began(e.t)
		for i := range log {
			if strings.Contains(log[i], `"GET / `) {
				log[i] = strings.Replace(log[i], at.Format("15:04:05"), at.Add(5*time.Second).Format("15:04:05"), 1)
			}
		}
	}},
	{class: inLog, name: "another method in the log", found: finding.LogMissing, show: beside, forge: func(e *evidence) {
		log := e.bakeryLog()
		log[3] = strings.Replace(log[3], "\"GET ", "\"POST ", 1)
	}},
	{class: inLog, name: "requests under another name from another address", why: "a log shows the client only by name and address", show: beside,
		forge: func(e *evidence) {
			log := e.bakeryLog()
			line := strings.Replace(strings.Replace(log[3], "curtsy/1", "Mozilla/5.0", 1), "198.18.0.9", "203.0.113.9", 1)
			e.logs["bakery.test"] = slices.Insert(log, 4, line)
		}},
	{class: inLog, name: "a request is removed of a log that sites share", found: finding.LogMissing, show: shared, forge: func(e *evidence) {
		e.logs["bakery.test"] = slices.Delete(e.bakeryLog(), 3, 4)
	}},
	{class: inLog, name: "a request that the archive lacks is added to a log that sites share", found: finding.LogExtra, show: shared, forge: func(e *evidence) {
		log := e.bakeryLog()
		e.logs["bakery.test"] = slices.Insert(log, 4, strings.Replace(log[3], "GET /", "GET /kitchen/", 1))
	}},
	{class: inLog, name: "a request is logged twice in a log that sites share", found: finding.LogExtra, show: shared, forge: func(e *evidence) {
		log := e.bakeryLog()
		e.logs["bakery.test"] = slices.Insert(log, 4, log[3])
	}},
	{class: inLog, name: "a request is attributed to another site, and the shared log names its site", found: finding.LogExtra, show: sharedNamed,
		forge: func(e *evidence) {
			log := e.bakeryLog()
			e.logs["station.test"] = append(e.logs["station.test"], log[3])
			e.logs["bakery.test"] = slices.Delete(log, 3, 4)
		}},
	{class: inLog, name: "a request is attributed to another site, and the shared log names none", why: "such a log does not show the site of a line",
		show: shared, forge: func(e *evidence) {
			log := e.bakeryLog()
			e.logs["station.test"] = append(e.logs["station.test"], log[3])
			e.logs["bakery.test"] = slices.Delete(log, 3, 4)
		}},
	{class: inLog, name: "a request is removed of logs that overlap", found: finding.LogMissing, show: overlapping, forge: func(e *evidence) {
		log := e.bakeryLog()
		e.logs["bakery.test"] = slices.Delete(log, len(log)/2, len(log)/2+1)
	}},
	{class: inLog, name: "a request that the archive lacks is added where logs overlap", found: finding.LogExtra, show: overlapping, forge: func(e *evidence) {
		log := e.bakeryLog()
		e.logs["bakery.test"] = slices.Insert(log, len(log)/2, strings.Replace(log[len(log)/2], "GET /", "GET /kitchen/", 1))
	}},
	{class: inLog, name: "a request is logged twice where logs overlap", found: finding.LogExtra, show: overlapping, forge: func(e *evidence) {
		log := e.bakeryLog()
		e.logs["bakery.test"] = slices.Insert(log, len(log)/2, log[len(log)/2])
	}},
	{class: inLog, name: "the log has half a request, refused, in place of one that was answered", found: finding.LogMissing, show: beside, forge: func(e *evidence) {
		log := e.bakeryLog()
		log[3] = log[3][:strings.Index(log[3], ` HTTP/`)] + `" 400 0 "-" "-"` + "\n"
	}},
}
