package reconcile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func pair(i int, began time.Time) (*evidence.Exchange, storage.Line) {
	e := exchange(fmt.Sprintf("http://a.test/%d", i), began, 40*time.Millisecond, 200)
	l := storage.Line{
		Time: e.End(), URL: e.URL, Decision: "allow", RobotsLine: 2, RobotsRule: "Allow: /", RobotsGroup: "*", RobotsSHA256: "ab", Pace: time.Second, PaceBy: "floor",
		Gap: 1100 * time.Millisecond, Attempt: 1, Began: e.Began, Took: e.Took, Status: 200, Outcome: "fetched", Record: e.Record,
	}
	line := l
	line.Record = ""
	e.Line = &line
	return e, l
}

func refusal(i int, at time.Time) storage.Line {
	return storage.Line{Time: at, URL: fmt.Sprintf("http://a.test/no/%d", i), Decision: "disallow", RobotsLine: 3}
}

// pairs is n exchanges and their lines, a step from each to the next.
func pairs(n int, base time.Time, step time.Duration) (es []*evidence.Exchange, lines []storage.Line) {
	for i := range n {
		e, l := pair(i, base.Add(time.Duration(i)*step))
		es, lines = append(es, e), append(lines, l)
	}
	return es, lines
}

// soon is a time behind the mark of a run that begins now.
func soon() time.Time { return time.Now().Add(time.Hour).Truncate(time.Microsecond) }

// beginRun opens a ledger and begins a run.
func beginRun(t *testing.T, o ledger.Options) *ledger.Writer {
	t.Helper()
	w, err := ledger.Open(o)
	require.NoError(t, err)
	require.NoError(t, w.Begin(t.Context()))
	return w
}

func witness(t *testing.T, o Options) *Ledger {
	t.Helper()
	o.TempDir = t.TempDir()
	w, err := Open(t.Context(), o)
	require.NoError(t, err)
	return w
}

// inform gives a witness the warcinfo record of a file.
func inform(t *testing.T, w *Ledger, file string) {
	t.Helper()
	in := &evidence.Info{Place: finding.Place{File: file}, SHA256: infoOf(file)}
	_ = w.Info(t.Context(), in, func(f finding.Finding) { t.Error(f) })
}

func written(t *testing.T, killed bool, lines ...storage.Line) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger")
	w, err := ledger.Open(ledger.Options{Dir: dir, Signer: signer(t, "me"), Warcinfo: infoOf("a.warc.gz")})
	require.NoError(t, err)
	if killed { // a run has a checkpoint before its first exchange, or none at all
		err = w.Begin(t.Context())
	}
	for _, l := range lines {
		err = errors.Join(err, w.Append(t.Context(), l))
	}
	require.NoError(t, err)
	if killed {
		err = w.Sync(t.Context())
		t.Cleanup(func() { w.Close() }) // only for Windows, which removes no open file
	} else {
		err = w.Close()
	}
	require.NoError(t, err)
	return dir
}

func infoOf(file string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(file))) }

func compared(t *testing.T, o Options, es []*evidence.Exchange, refused []storage.Line) (*audit.Result, []finding.Finding) {
	t.Helper()
	o.TempDir = t.TempDir()
	w, err := Open(t.Context(), o)
	require.NoError(t, err)
	for _, e := range es {
		if w.runs.bound[infoOf(e.File)] != nil {
			inform(t, w, e.File)
		}
	}
	for i := range refused {
		require.NoError(t, w.Refused(t.Context(), &refused[i], finding.Place{File: "a.warc.gz", Offset: 9, Record: "urn:uuid:refusals"}, nil))
	}
	r, found := witnessed(t, w, es...)
	left, err := os.ReadDir(o.TempDir)
	assert.Truef(t, err == nil && len(left) <= 0, "left behind: %v %v", left, err)
	return r, found
}

// Package forgery has the differences.
func TestLedger_MatchesArchive(t *testing.T) {
	base := soon()
	for name, c := range map[string]struct {
		change func(es *[]*evidence.Exchange, lines, refused *[]storage.Line)
		want   string
	}{
		"honest": {func(*[]*evidence.Exchange, *[]storage.Line, *[]storage.Line) {}, ""},
		"another order": {func(es *[]*evidence.Exchange, lines, refused *[]storage.Line) {
			slices.Reverse(*es)
			slices.Reverse(*refused)
		}, ""},
		"brackets": {func(es *[]*evidence.Exchange, lines, _ *[]storage.Line) {
			(*lines)[0].Record = "<" + (*lines)[0].Record + ">"
		}, ""},
		"no metadata": {func(es *[]*evidence.Exchange, _, _ *[]storage.Line) { (*es)[2].Line = nil }, ""},
		"unsent": {func(_ *[]*evidence.Exchange, lines, _ *[]storage.Line) {
			l := (*lines)[0]
			l.Record, l.Status = "", 0
			*lines = append(*lines, l)
		}, ""},
		"another status, no metadata": {func(es *[]*evidence.Exchange, _, _ *[]storage.Line) { (*es)[1].Line, (*es)[1].Status = nil, 500 },
			"ledger-differs"},
		"no HTTP behind a status, no metadata": {func(es *[]*evidence.Exchange, lines, _ *[]storage.Line) {
			(*es)[1].Line, (*es)[1].Cut = nil, evidence.CutUnread
			(*lines)[1].Status, (*lines)[1].Truncated = 0, evidence.CutUnread
		}, ""},
		"cut, and no status in the ledger, no metadata": {func(es *[]*evidence.Exchange, lines, _ *[]storage.Line) {
			(*es)[1].Line, (*es)[1].Cut = nil, "length"
			(*lines)[1].Status, (*lines)[1].Truncated = 0, "length"
		}, "ledger-differs"},
		"a count of refusals": {func(_ *[]*evidence.Exchange, lines, _ *[]storage.Line) { (*lines)[len(*lines)-1].Count = 1000 }, "ledger-extra ledger-missing"},
	} {
		for _, memory := range []int{0, 1} {
			es, lines := pairs(5, base, time.Minute)
			var refused []storage.Line
			for i := range 3 {
				refused = append(refused, refusal(i, base.Add(time.Duration(i)*time.Minute)))
			}
			lines = append(lines, refused...)
			c.change(&es, &lines, &refused)
			r, found := compared(t, Options{Dir: written(t, false, lines...), Memory: memory}, es, refused)
			if got := codesOf(found); got != c.want || r.Ledger.Crashes != 0 || r.Ledger.Signer == "" || len(r.Ledger.Keys) != 1 {
				t.Errorf("%s: %q, want %q\n%+v\n%+v", name, got, c.want, found, r.Ledger)
			}
			for _, f := range found {
				assert.Truef(t, f.URL != "" && f.Authority == "http://a.test" && !f.Time.IsZero(), "%s: %+v", name, f)
			}
		}
	}
}

func TestLedger_DamagedDoesNotAgree(t *testing.T) {
	e, l := pair(0, soon())
	e.Damaged = e.Place
	r, found := compared(t, Options{Dir: written(t, false, l)}, []*evidence.Exchange{e}, nil)
	assert.Truef(t, len(found) <= 0 && r.Ledger.Agree == 0 && r.Ledger.Records == 1, "%+v, %+v", found, r.Ledger)
}

func TestCrashExcusesThirtySeconds(t *testing.T) {
	es, lines := pairs(100, soon(), time.Second)
	without := func(gone ...int) (left []storage.Line) {
		for i, l := range lines {
			if !slices.Contains(gone, i) {
				left = append(left, l)
			}
		}
		return left
	}
	owned := func(lines []storage.Line) []storage.Line {
		for i := range lines {
			lines[i].Own = true
		}
		return lines
	}
	// A run that is killed leaves no head, which is named as well: "no end head" and "lines after the last head".
	const marks = "(crash-in-flight) (crash-in-flight)"
	for name, c := range map[string]struct {
		lines  []storage.Line
		killed bool
		want   string
	}{
		"the last, killed":                              {without(98, 99), true, marks + " (crash-in-flight) (crash-in-flight)"},
		"the last three, killed":                        {without(97, 98, 99), true, marks + " (crash-in-flight) (crash-in-flight) (crash-in-flight)"},
		"29 s before, killed, and later ones are there": {without(70), true, marks + " ledger-missing"},
		"a minute, killed":                              {without(39), true, marks + " ledger-missing"},
		"29 s before, killed, of several lanes":         {owned(without(70)), true, marks + " (crash-in-flight)"},
		"the last, and no kill":                         {without(50, 99), false, "ledger-missing ledger-missing"},
	} {
		for _, e := range es {
			e.Line.Own = c.lines[0].Own
		}
		_, found := compared(t, Options{Dir: written(t, c.killed, c.lines...)}, es, nil)
		assert.Equal(t, c.want, codesOf(found), name)
	}
	// A ledger without even the mark of a run: no crawl leaves that, for the mark comes before the first exchange.
	dir := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	_, found := compared(t, Options{Dir: dir}, es[:3], nil)
	assert.Equal(t, "ledger-lines ledger-missing ledger-missing ledger-missing", codesOf(found))
}

func TestLodgedHead(t *testing.T) {
	es, lines := pairs(9, soon(), time.Second)
	dir := written(t, false, lines...)
	seen := int64(0)
	for e, err := range ledger.Scan(dir) {
		require.NoError(t, err)
		require.Nil(t, e.Problem, e)
		if e.Mark == nil {
			seen++
		}
		root, known := e.Root()
		require.True(t, known, "the root is not known")
		r, found := compared(t, Options{Dir: dir, Heads: []checkpoint.Checkpoint{{Size: e.Index + 1, Root: root}}}, es, nil)
		if len(found) > 0 || r.Level != audit.Lodged || len(r.Ledger.Lodged) != 1 || r.Ledger.Since != 9-seen {
			t.Errorf("segment %d line %d: %+v %+v", e.Segment, e.Row, r.Ledger, found)
		}
	}
	r, found := compared(t, Options{Dir: dir, Heads: []checkpoint.Checkpoint{{Size: 3}}}, es, nil)
	assert.Truef(t, codesOf(found) == "ledger-head" && r.Level == audit.SelfConsistent, "%s: %+v", r.Level, found)
}

func TestRowsSurviveSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	noise := func() string {
		b := make([]byte, rng.IntN(2*maxField))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return string(b)
	}
	for range 200 {
		l := storage.Line{Time: time.UnixMicro(rng.Int64N(1 << 50)), URL: noise(), Decision: storage.Decision(noise()), Reason: noise(), RobotsLine: 1, RobotsRule: noise(), PaceBy: storage.PaceBy(noise())}
		for _, a := range []row{exchangeRow(true, noise(), "here", &l, l.URL, l.Time), refusalRow(false, "there offset 7", &l)} {
			b := parseRow(a.append(nil))
			if b.key != a.key || b.line != a.line || b.refusal != a.refusal || b.place != a.place || b.record != a.record || b.began != a.began || !slices.Equal(b.fields, a.fields) {
				t.Fatalf("\n got %+v\nwant %+v", b, a)
			}
			require.Empty(t, differences(&a, &b), "a row differs after a round trip")
		}
	}
}

func TestLedger_ManyKills(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	const kills = maxProblems + 30
	var es []*evidence.Exchange
	for i := range kills {
		w := beginRun(t, ledger.Options{Dir: dir})
		e, l := pair(i, time.Now().UTC().Truncate(time.Microsecond))
		es = append(es, e)
		require.NoError(t, w.Append(t.Context(), l))
		require.NoError(t, w.Sync(t.Context()))
		t.Cleanup(func() { w.Close() })
	}
	_, found := compared(t, Options{Dir: dir}, es, nil)
	notes := 0
	for _, f := range found {
		if f.Note && f.Code == finding.CrashInFlight {
			notes++
		} else {
			t.Errorf("found %+v", f)
		}
	}
	if notes < kills { // the last one leaves a second trace: lines behind the last head
		t.Errorf("%d notes of %d kills", notes, kills)
	}
}

const ourAgent = "curtsy/1 (+https://o.example)"

func exchange(url string, began time.Time, took time.Duration, status int) *evidence.Exchange {
	authority := evidence.AuthorityOf(url)
	return &evidence.Exchange{
		Place: finding.Place{File: "a.warc.gz", Offset: 7, Record: fmt.Sprintf("urn:uuid:%s@%d", url, began.UnixNano())}, URL: url, Authority: authority,
		Target: strings.TrimPrefix(url, authority), Began: began, Took: took, Ended: true, Resolution: time.Microsecond,
		Method: "GET", Agent: ourAgent, Status: status, Answered: status != 0,
	}
}

func witnessed(t *testing.T, w audit.Witness, es ...*evidence.Exchange) (*audit.Result, []finding.Finding) {
	t.Helper()
	var found []finding.Finding
	report := func(f finding.Finding) { found = append(found, f) }
	for _, e := range es {
		require.NoError(t, w.Exchange(t.Context(), e, report))
	}
	r := &audit.Result{Level: audit.SelfConsistent}
	require.NoError(t, w.Close(t.Context(), r, report))
	return r, found
}

// codesOf lists findings as "code" or "(code)" for notes.
func codesOf(found []finding.Finding) string {
	var all []string
	for _, f := range found {
		c := string(f.Code)
		if f.Note {
			c = "(" + c + ")"
		}
		all = append(all, c)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestLedger_UnsentAttemptExplainsDelay(t *testing.T) {
	base := soon()
	for name, c := range map[string]struct {
		url  string
		at   time.Duration
		want string
	}{
		"in between":      {"http://a.test/dead", 5 * time.Second, ""},
		"before":          {"http://a.test/dead", -5 * time.Second, "gap-told"},
		"after":           {"http://a.test/dead", 15 * time.Second, "gap-told"},
		"of another host": {"http://b.test/dead", 5 * time.Second, "gap-told"},
	} {
		e, l := pair(1, base.Add(10*time.Second))
		e.Since = base
		dead := storage.Line{Time: base.Add(c.at), URL: c.url, Decision: "allow", Reason: "connect", Attempt: 1, Outcome: "deferred"}
		lines := []storage.Line{dead, l}
		if c.at > 10*time.Second {
			lines = []storage.Line{l, dead}
		}
		_, found := compared(t, Options{Dir: written(t, false, lines...)}, []*evidence.Exchange{e}, nil)
		assert.Equalf(t, c.want, codesOf(found), "%s: %+v", name, found)
	}
}
