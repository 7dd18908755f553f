package trial

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/reconcile"
)

type logged struct {
	at   time.Time
	text string
}

// The server's clock is wrong by less than the audit allows.
func (h *trialHost) line(began, ended time.Time, method, target string, status, size int, agent string) logged {
	stamp := began
	if h.after {
		stamp = ended
	}
	d := throw(h.w.seed, "clock", h.name)
	stamp = stamp.Add(time.Duration(d.IntN(3800)-1900) * time.Millisecond)
	return logged{ended, fmt.Sprintf("192.0.2.1 - - [%s] \"%s %s HTTP/1.1\" %03d %d \"-\" \"%s\"\n", stamp.UTC().Format("02/Jan/2006:15:04:05 -0700"),
		method, escaped(target), status, size, escaped(agent))}
}

// loggedStatus returns the status in the server's log; 0 for none.
func (a *answer) loggedStatus() int {
	status := 0
	switch {
	case a.hangUp:
	case a.garbage == "":
		status = a.status
	default:
		_, after, _ := strings.Cut(a.garbage, " ")
		if n, err := fmt.Sscanf(after, "%3d", &status); n != 1 || err != nil {
			status = 400
		}
	}
	return status
}

type log struct {
	hosts []string
	lines []logged
}

// logsOf returns logs of some or all hosts. Some servers share one log, with or without the host before each line.
func (x *trial) logsOf(d dice) (all []*log) {
	some, groups := d.in(2), 1+d.IntN(4)
	shared := map[int]*log{}
	names := map[int]string{}
	for _, name := range slices.Sorted(maps.Keys(x.logs)) {
		if some && d.in(2) {
			continue
		}
		group := d.IntN(2 * groups)
		if group >= groups {
			all = append(all, &log{[]string{name}, slices.Clone(x.logs[name])})
			continue
		}
		l := shared[group]
		if l == nil {
			l = &log{}
			shared[group], names[group] = l, d.one("", "", "each", "server.test:80 ")
			all = append(all, l)
		}
		before := names[group]
		if before == "each" {
			before = name + ":80 "
			if strings.Contains(name, ":") {
				before = name + " "
			}
		}
		l.hosts = append(l.hosts, name)
		for _, line := range x.logs[name] {
			l.lines = append(l.lines, logged{line.at, before + line.text})
		}
	}
	for _, l := range all {
		slices.SortStableFunc(l.lines, func(a, b logged) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	}
	return all
}

// cutLogs writes contiguous parts of logs: files may be lost, overlap, repeat, or be compressed.
func (x *trial) cutLogs(t *testing.T, dir string, d dice) (files []accesslog.Log) {
	t.Helper()
	for k, l := range x.logsOf(d) {
		lines := l.lines
		if !d.in(4) {
			from := d.IntN(len(lines))
			lines = lines[from : from+d.IntN(len(lines)-from+1)]
		}
		lose, overlap := d.in(2), d.in(2)
		begin, n := 0, 0
		for end := 0; end < len(lines); {
			end = len(lines)
			if d.in(2) {
				end = begin + 1 + d.IntN(len(lines)-begin)
			}
			first := begin
			if overlap && d.in(2) {
				first = d.IntN(begin + 1)
			}
			begin = end
			if lose && d.in(4) {
				continue
			}
			for again := true; again; again = overlap && d.in(4) {
				path := filepath.Join(dir, fmt.Sprintf("%d.%d.log", k, n))
				write(t, path, lines[first:end], d.in(3))
				for _, h := range l.hosts {
					files = append(files, accesslog.Log{Host: h, Path: path})
				}
				n++
			}
		}
	}
	return files
}

func write(t *testing.T, path string, lines []logged, packed bool) {
	t.Helper()
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l.text)
	}
	if packed {
		plain := bytes.Clone(b.Bytes())
		b.Reset()
		z := gzip.NewWriter(&b)
		z.Write(plain) // a bytes.Buffer never fails
		z.Close()
	}
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}

// A crawl whose clock was set is not compared with logs: dates differ by hours.
func (x *trial) witness(t *testing.T, temp string, book *reconcile.Ledger) audit.Witness {
	t.Helper()
	d := throw(x.web.seed, "logs", fmt.Sprint(x.kills))
	if x.stepped {
		return nil
	}
	files := x.cutLogs(t, temp, d)
	if len(files) == 0 {
		return nil
	}
	return accesslog.Compare(accesslog.Options{Logs: files, TempDir: temp, Crashed: book.Crashed, TakenDown: book.TakenDown, Whole: true})
}
