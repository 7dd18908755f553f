package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/hostmap"
)

func TestOpen_RebuildsTilesAndHosts(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, dir string)
		want string // in the messages; empty for no message
	}{
		{"a torn tile", func(t *testing.T, dir string) {
			all, err := filepath.Glob(filepath.Join(dir, tileFolder, "0", "*", "*"))
			require.NoError(t, err)
			require.NotEmpty(t, all)
			for _, file := range all {
				edit(t, file, func(s string) string { return s[:33] })
			}
		}, "tiles"},
		{"no tiles", func(t *testing.T, dir string) { removing(t, filepath.Join(dir, tileFolder)) }, "tiles"},
		{"no hosts", func(t *testing.T, dir string) { removing(t, filepath.Join(dir, HostsName)) }, "map of hosts"},
		{"torn hosts", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, HostsName), func(s string) string { return s[:len(s)/2] })
		}, "map of hosts"},
		{"other hosts", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, HostsName), func(s string) string { return strings.Replace(s, `"count":`, `"count":1`, 1) })
		}, "map of hosts"},
		{"hosts that a kill left under their other name", func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, HostsName), filepath.Join(dir, HostsName+newSuffix)))
		}, ""},
		{"no latest checkpoint", func(t *testing.T, dir string) { removing(t, filepath.Join(dir, CheckpointName)) }, ""},
		{"an earlier latest checkpoint", func(t *testing.T, dir string) {
			b, err := os.ReadFile(CheckpointPath(dir, 3))
			require.NoError(t, err)
			edit(t, filepath.Join(dir, CheckpointName), func(string) string { return string(b) })
		}, ""},
		{"a run without lines", func(*testing.T, string) {}, ""},
	} {
		for _, size := range []int64{0, 1} {
			t.Run(fmt.Sprintf("%s, segments of %d", c.name, size), func(t *testing.T) {
				dir := newLedger(t, testKey(1), size, 2)
				_, before := scanned(t, dir)
				c.do(t, dir)
				w := open(t, Options{Dir: dir, SegmentSize: size, Signer: testKey(1)})
				if repairs := strings.Join(w.Repairs(), "\n"); c.want == "" && repairs != "" || !strings.Contains(repairs, c.want) {
					t.Errorf("repairs %q, want %q", repairs, c.want)
				}
				write(t, w, numbered(9))
				closing(t, w)
				if problems, after := scanned(t, dir); len(problems) > 0 || !slices.Equal(after[:len(before)], before) {
					t.Errorf("%v %q", problems, after)
				}
				w = open(t, Options{Dir: dir, SegmentSize: size, Signer: testKey(1)})
				assert.Empty(t, w.Repairs(), "and again")
				closing(t, w)
			})
		}
	}
}

func TestOpen_RejectsOtherLines(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, dir string){
		"lines cut off": func(t *testing.T, dir string) {
			edit(t, path(dir, 0), func(s string) string { return s[:strings.LastIndex(s[:len(s)-1], "\n")+1] })
		},
		"no lines": func(t *testing.T, dir string) { removing(t, path(dir, 0)) },
		"a line edited, and the tiles gone": func(t *testing.T, dir string) {
			replacing(0, "a.test/1", "b.test/1")(t, dir)
			removing(t, filepath.Join(dir, tileFolder))
		},
		"an invalid checkpoint, and no other": func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, CheckpointName), func(string) string { return "x" })
			removing(t, filepath.Join(dir, CheckpointFolder))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newLedger(t, testKey(1), 0, 1)
			do(t, dir)
			before := contentsOf(t, dir)
			if w, err := Open(Options{Dir: dir, Signer: testKey(1)}); err == nil {
				closing(t, w)
				t.Fatal("went on")
			} else if !strings.Contains(err.Error(), dir) {
				t.Error(err)
			}
			if after := contentsOf(t, dir); after != before && !strings.Contains(name, "tiles") {
				t.Errorf("it changed\n%s\nto\n%s", before, after)
			}
		})
	}
}

func contentsOf(t *testing.T, dir string) (all string) {
	t.Helper()
	for _, name := range []string{"000000.jsonl", CheckpointName, HostsName} {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		all += name + "\n" + string(b)
	}
	return all
}

func TestBegin_CommitsLinesAfterKill(t *testing.T) {
	dir := newLedger(t, testKey(1), 0, 1)
	w := open(t, Options{Dir: dir, Signer: testKey(1)})
	write(t, w, numbered(7))
	require.NoError(t, w.Sync(t.Context()))
	abandon(t, w)
	w = open(t, Options{Dir: dir, Signer: testKey(1)})
	require.NoError(t, w.Begin(t.Context()))
	n, err := Latest(dir)
	if err != nil || n.Size != 12 || !n.SignedBy(testKey(1).Key()) { // 8, run, line, run, hosts
		t.Fatalf("%+v, %v", n, err)
	}
	closing(t, w)
	onlyAfterKill(t, "gone on", dir, NoStop)
}

func TestACheckpointIsMadeEveryTenMinutesWhileLinesCome(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{Dir: dir, Signer: testKey(1)})
		require.NoError(t, w.Begin(t.Context()))
		size := func() int64 {
			synctest.Wait()
			n, err := Latest(dir)
			require.NoError(t, err)
			return n.Size
		}
		assert.EqualValues(t, 3, size(), "at the begin")
		write(t, w, numbered(1))
		time.Sleep(Interval - time.Second)
		assert.EqualValues(t, 3, size(), "before the interval is over")
		time.Sleep(2 * time.Second)
		assert.EqualValues(t, 5, size(), "behind the interval")
		time.Sleep(3 * Interval)
		assert.EqualValues(t, 5, size(), "though no line came")
		closing(t, w)
	})
}

func TestACheckpointIsMadeForEachSegmentAndForManyHosts(t *testing.T) {
	for name, c := range map[string]struct {
		size  int64
		lines int
		want  int64
	}{
		"two segments": {2000, 14, 12}, "a part of one": {1 << 20, 14, 3}, "many hosts": {1 << 29, maxChanged + 10, maxChanged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := open(t, Options{Dir: dir, SegmentSize: c.size})
				require.NoError(t, w.Begin(t.Context()))
				for i := range c.lines {
					l := numbered(i)
					l.URL = fmt.Sprintf("http://h%d.test/", i)
					write(t, w, l)
				}
				synctest.Wait()
				n, err := Latest(dir)
				if err != nil || n.Size < c.want || n.Size > c.want+14 && c.lines < 100 {
					t.Errorf("%+v, %v", n, err)
				}
				closing(t, w)
			})
		})
	}
}

func TestNoLineWaitsForACheckpoint(t *testing.T) {
	sys, held := realSystem(), make(chan struct{})
	keep := sys.keep
	sys.keep = func(path string, b []byte) error {
		<-held
		return keep(path, b)
	}
	dir := t.TempDir()
	w, err := openOn(Options{Dir: dir, Signer: testKey(1)}, sys)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	write(t, w, numbered(1))
	waits := make(chan error, 1)
	go func() { waits <- w.Commit(ctx) }()
	cancel()
	assert.ErrorIs(t, <-waits, context.Canceled, "gave up")
	for i := range 300 {
		write(t, w, numbered(i))
	}
	assert.NoError(t, w.Sync(t.Context()))
	if _, err := Latest(dir); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("there is one: %v", err)
	}
	close(held)
	assert.NoError(t, w.Commit(t.Context()))
	closing(t, w)
	if problems, _ := scanned(t, dir); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestMarks_RecordArguments(t *testing.T) {
	dir, digest := newLedger(t, testKey(1), 0, 1), strings.Repeat("0c", 32)
	at := forget(t, dir, 0, 5)
	o := Options{Dir: dir, Signer: testKey(1), Warcinfo: digest, SettingsSHA256: digest, OptOutsSHA256: digest}
	w := open(t, o)
	assert.Empty(t, w.Repairs())
	r := Redaction{Extent: ExtentAll, Reason: "asked \u202eto", Subject: digest, Records: []RedactedRecord{{"urn:uuid:1", digest}},
		Files: []RedactedFile{{"warc/x.warc.gz", 7, digest, digest}}}
	for i := range int64(maxRedacted + 1) {
		r.Entries = append(r.Entries, 1000+i)
	}
	r.Entries[maxRedacted] = at
	require.NoError(t, w.Redact(t.Context(), r))
	require.NoError(t, w.File(t.Context(), "warc/y.warc.gz", 8, digest))
	require.NoError(t, w.OptOuts(t.Context(), digest, 9))
	for _, err := range []error{w.File(t.Context(), "", 8, digest), w.File(t.Context(), "x", 8, "0"), w.OptOuts(t.Context(), "0C", 1),
		w.Redact(t.Context(), Redaction{Extent: "some", Subject: digest})} {
		assert.Error(t, err, "accepted an invalid value")
	}
	closing(t, w)
	var kinds []string
	var forgotten, named int
	for e, err := range Scan(dir) {
		switch m := e.Mark; {
		case err != nil || e.Problem != nil:
			t.Fatal(e.Problem, err)
		case e.Forgotten:
			forgotten++
		case m == nil:
		case m.Kind == KindRedaction:
			named += len(m.Redaction.Entries)
			if m.Redaction.Reason != r.Reason || m.Redaction.Subject != digest {
				t.Errorf("%+v", m.Redaction)
			}
			fallthrough
		default:
			if m.Kind == KindRun && (m.Settings != m.Warcinfo || m.OptOuts != m.Warcinfo || m.Key != testKey(1).VerifierKey() || m.Killed) ||
				m.Kind == KindFile && (m.Name != "warc/y.warc.gz" || m.Octets != 8 || m.SHA256 != digest) || m.Kind == KindOptOuts && m.Entries != 9 {
				t.Errorf("%+v", m)
			}
			kinds = append(kinds, m.Kind)
		}
	}
	want := []string{"begin", "run", "hosts", "stop", "hosts", "redaction", "redaction", "run", "file", "optouts", "stop", "hosts"}
	if !slices.Equal(kinds, want) || forgotten != 1 || named != maxRedacted+1 {
		t.Errorf("%q, want %q; %d forgotten, %d named", kinds, want, forgotten, named)
	}
}

func TestRun_RecordsClockSetBack(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	l := numbered(1)
	l.Time = time.Now().Add(time.Hour)
	write(t, w, l)
	require.NoError(t, w.Sync(t.Context()))
	abandon(t, w)
	closing(t, open(t, Options{Dir: dir}))
	for e, err := range Scan(dir) {
		require.NoError(t, err)
		if m := e.Mark; m != nil && m.Kind == KindRun && e.Index > 1 && (!m.Killed || m.ClockBack < 50*time.Minute || m.ClockBack > time.Hour) {
			t.Errorf("%+v", m)
		}
	}
}

func TestTheMapOfManyHostsIsCheckedThroughAFile(t *testing.T) {
	temp, lines := t.TempDir(), 500
	if long() {
		lines = 2*lag + 1000
	}
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	for i := range lines {
		l := numbered(i)
		l.URL = fmt.Sprintf("http://h%d.test/", i%400)
		write(t, w, l)
	}
	closing(t, w)
	if problems, entries := scanned(t, dir); len(problems) > 0 || len(entries) < lines {
		t.Error(problems)
	}
	edit(t, path(dir, 0), func(s string) string { return strings.Replace(s, "://h7.test/", "://h8.test/", 1) })
	removing(t, filepath.Join(dir, tileFolder))
	if problems, _ := scanned(t, dir); len(problems) != 2 || problems[0].Fault != MapDiffers || problems[1].Fault != RootDiffers {
		t.Error(problems)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestTheMapIsThatOfTheLines(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: 4000})
	want := map[string]int64{}
	for i := range 300 {
		l := numbered(i)
		host := fmt.Sprintf("h%d.test", i*i%37)
		l.URL = "HTTP://u@" + strings.ToUpper(host) + ":80/x"
		want[host]++
		write(t, w, l)
		if i%50 == 49 {
			require.NoError(t, w.Commit(t.Context()))
		}
	}
	closing(t, w)
	n, err := Latest(dir)
	require.NoError(t, err)
	got := map[string]int64{}
	for e, err := range Hosts(dir) {
		require.NoError(t, err)
		require.Equal(t, hostmap.Key(n.Origin, e.Host), e.Key, e)
		got[e.Host] = e.Count
	}
	if len(got) != len(want) || len(want) < 15 {
		t.Errorf("%v, want %v", got, want)
	}
	for host, n := range want {
		assert.Equal(t, n, got[host], host)
	}
	if problems, _ := scanned(t, dir); len(problems) > 0 {
		t.Error(problems)
	}
}
