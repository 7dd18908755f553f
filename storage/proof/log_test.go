package proof

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/accesslog"
)

func (w *world) logged(host string) (lines []string) {
	for _, i := range w.at[host] {
		l, err := storage.ParseLine(w.lines[i])
		if err != nil || l.Record == "" {
			continue
		}
		_, target, _ := strings.Cut(strings.TrimPrefix(l.URL, "http://"), "/")
		lines = append(lines, entryAt(l.Began.Add(l.Took), "/"+target, l.Status))
	}
	return lines
}

func entryAt(at time.Time, target string, status int) string {
	return fmt.Sprintf("192.0.2.9 - - [%s] \"GET %s HTTP/1.1\" %d 5 \"-\" %q\n", at.Format("02/Jan/2006:15:04:05 -0700"), target, status, testAgent)
}

func fileOf(t testing.TB, lines []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644))
	return path
}

func TestTheAccessLogConfirmsTheLines(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("a.test", 40)
	w.mark(`{"mark":"stop","time":"` + w.clock() + `","lines":42}`)
	b := w.bundle("a.test", w.commit())
	honest := w.logged("a.test")
	for name, c := range map[string]struct {
		lines []string
		want  Code
		level Level
	}{
		"as it was":            {honest, "", Confirmed},
		"others are in it":     {append([]string{strings.Replace(entryAt(w.now.Add(-9*time.Second), "/secret", 200), testAgent, "other/1", 1)}, honest...), "", Confirmed},
		"a request more":       {append([]string{entryAt(w.now.Add(-9*time.Second), "/secret", 200)}, honest...), LogExtra, NoLevel},
		"a request less":       {append(append([]string{}, honest[:20]...), honest[21:]...), LogMissing, NoLevel},
		"another status":       {append(append([]string{}, honest[:20]...), append([]string{strings.Replace(honest[20], " 200 ", " 404 ", 1)}, honest[21:]...)...), LogMissing, NoLevel},
		"nothing of it at all": {[]string{strings.Replace(entryAt(w.now.Add(-time.Hour), "/", 200), testAgent, "other/1", 1)}, "", SelfConsistent},
	} {
		r := verified(t, b, Options{Logs: []accesslog.Log{{Path: fileOf(t, c.lines)}}})
		if c.want == "" && !r.Holds || c.want != "" && r.Counts[c.want] == 0 || r.Level != c.level {
			t.Errorf("%s: %s %+v %+v", name, r.Level, r.Findings, r.Log)
		}
	}
}

func TestRequestsMayBeThoseOfRedactedLines(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("a.test", 40)
	honest := w.logged("a.test")
	w.forget("a.test", 20, 22, "")
	b := w.bundle("a.test", w.commit())
	r := verified(t, b, Options{Logs: []accesslog.Log{{Path: fileOf(t, honest)}}})
	if !r.Holds || r.Level != SelfConsistent || !strings.Contains(strings.Join(r.CannotShow, "\n"), "2 requests of the access log") {
		t.Errorf("%+v %+v %q", r.Findings, r.Log, r.CannotShow)
	}
	more := append([]string{entryAt(w.now.Add(-9*time.Second), "/secret", 200)}, honest...)
	r = verified(t, b, Options{Logs: []accesslog.Log{{Path: fileOf(t, more)}}})
	assert.NotZerof(t, r.Counts[LogExtra], "a third request is excused: %+v %+v", r.Findings, r.Log)
}

func TestLog_KillExcusesInFlightOnly(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("a.test", 200)
	killed := w.now
	honest := w.logged("a.test")
	w.now = w.now.Add(10 * time.Second)
	w.mark(fmt.Sprintf(`{"mark":"run","time":"%s","cut":0,"killed":true,"key":"%s"}`, w.clock(), w.signer.VerifierKey()))
	w.visit("a.test", 60)
	w.mark(`{"mark":"stop","time":"` + w.clock() + `","lines":124}`)
	b := w.bundle("a.test", w.commit())
	honest = append(honest, w.logged("a.test")[len(honest):]...)
	lost := verified(t, b, Options{Logs: []accesslog.Log{{Path: fileOf(t, append([]string{entryAt(killed.Add(3*time.Second), "/lost", 200)}, honest...))}}})
	if !lost.Holds || lost.Killed != 1 || lost.Log.Crash != 1 {
		t.Errorf("%+v %+v", lost.Findings, lost.Log)
	}
	early := killed.Add(-20 * time.Second) // the comparison leaves a minute for a request that hangs
	hidden := verified(t, b, Options{Logs: []accesslog.Log{{Path: fileOf(t, append([]string{entryAt(early.Add(-time.Minute), "/hidden", 200)}, honest...))}}})
	if hidden.Counts[LogExtra] != 1 || hidden.Log.Crash != 0 {
		t.Errorf("%+v %+v", hidden.Findings, hidden.Log)
	}
}

func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	_, b := visited(t, 1)
	_, err := Verify(t.Context(), strings.NewReader(string(b)), int64(len(b)), Options{Logs: []accesslog.Log{{Path: filepath.Join(t.TempDir(), "none")}}, TempDir: t.TempDir()})
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestPage_EscapesWebText(t *testing.T) {
	w := newWorld(t, 1)
	evil := "<script>alert(1)</script>\u202e"
	sha := w.robots("a.test", "/robots.txt", "User-agent: *\nDisallow: /"+evil+"\n")
	w.line(storage.Line{URL: "http://a.test/" + evil, Decision: storage.DecisionDisallow, RobotsLine: 2, RobotsRule: "Disallow: /" + evil, RobotsSHA256: sha})
	page := string(unpacked(t, w.bundle("a.test", w.commit()))[pageName])
	if strings.Contains(page, "<script") || strings.Contains(page, "\u202e") || strings.Contains(page, "<img") {
		t.Error("the page has markup of a host")
	}
	assert.Contains(t, page, "&lt;script&gt;alert(1)", "the page does not show it")
}
