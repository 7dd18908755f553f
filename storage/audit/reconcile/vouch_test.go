package reconcile

import (
	"bytes"
	"crypto/sha256"
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

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

func signer(t *testing.T, name string) *checkpoint.Signer {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	s, err := checkpoint.NewSigner(seed[:])
	require.NoError(t, err)
	return s
}

func ledgerRun(t *testing.T, o ledger.Options, urls ...string) {
	t.Helper()
	w := beginRun(t, o)
	for _, url := range urls {
		require.NoError(t, w.Append(t.Context(), storage.Line{Time: time.Now(), URL: url, Decision: "allow", Attempt: 1}))
	}
	require.NoError(t, w.Close())
}

func vouchedFor(t *testing.T, o Options) (*vouching, string) {
	t.Helper()
	l, err := newVouched(&o)
	require.NoError(t, err)
	return closed(t, l)
}

func closed(t *testing.T, l *vouched) (*vouching, string) {
	t.Helper()
	for e, err := range ledger.Scan(l.o.Dir) {
		require.NoError(t, err)
		if e.Problem == nil {
			l.entry(&e)
		}
	}
	var found []finding.Finding
	v, err := l.judge(t.Context(), &audit.LedgerCheck{}, func(f finding.Finding) {
		assert.Truef(t, f.Required != "" && f.Observed != "", "%+v", f)
		found = append(found, f)
	})
	require.NoError(t, err)
	return v, codesOf(found)
}

func latest(t *testing.T, dir string) (*checkpoint.Note, string) {
	t.Helper()
	n, err := ledger.Latest(dir)
	require.NoError(t, err)
	return n, ledger.CheckpointPath(dir, n.Size)
}

func witnessSigner(t *testing.T) *checkpoint.Signer {
	t.Helper()
	seed := sha256.Sum256([]byte("witness"))
	w, err := checkpoint.WitnessSigner("witness.test/w", seed[:])
	require.NoError(t, err)
	return w
}

// cosigned adds the cosignature of a witness to the latest checkpoint of a ledger.
func cosigned(t *testing.T, dir string, w *checkpoint.Signer) *checkpoint.Note {
	t.Helper()
	n, path := latest(t, dir)
	sig, err := w.Cosign(n)
	require.NoError(t, err)
	require.True(t, n.Add(sig))
	require.NoError(t, os.WriteFile(path, n.Marshal(), 0o644))
	return n
}

func TestVouch_KnownSigner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, now, stranger := signer(t, "old"), signer(t, "new"), signer(t, "stranger")
		dir := filepath.Join(t.TempDir(), "ledger")
		ledgerRun(t, ledger.Options{Dir: dir, Signer: old}, "http://a.test/", "http://b.test/")
		check := func(name string, key checkpoint.Key, known bool, want string) {
			t.Helper()
			v, codes := vouchedFor(t, Options{Dir: dir, Key: key})
			assert.Truef(t, v.SignerKnown == known && codes == want && v.Head != "" && v.Covered == v.Entries && !v.signer.IsZero(), "%s: %+v, %q", name, v, codes)
		}
		check("none", checkpoint.Key{}, false, "")
		check("the operator's", old.Key(), true, "")
		check("a stranger's", stranger.Key(), false, "ledger-key")
		time.Sleep(time.Hour)
		note, err := checkpoint.Rotate(old, now, time.Now())
		require.NoError(t, err)
		ledgerRun(t, ledger.Options{Dir: dir, Signer: now, Rotations: [][]byte{note}}, "http://a.test/2")
		check("the old one, of two", old.Key(), true, "")
		check("the new one", now.Key(), true, "")
		check("a stranger's, of neither", stranger.Key(), false, "ledger-key")
		bare := filepath.Join(t.TempDir(), "ledger")
		ledgerRun(t, ledger.Options{Dir: bare}, "http://a.test/")
		v, codes := vouchedFor(t, Options{Dir: bare, Key: old.Key()})
		assert.Truef(t, codes == "ledger-key" && !v.SignerKnown && v.signer.IsZero(), "without a signature: %+v, %q", v, codes)
	})
}

func TestVouch_SubmittedHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		me := signer(t, "me")
		dir, other := filepath.Join(t.TempDir(), "ledger"), filepath.Join(t.TempDir(), "ledger")
		ledgerRun(t, ledger.Options{Dir: dir, Signer: me}, "http://a.test/")
		first, _ := latest(t, dir)
		ledgerRun(t, ledger.Options{Dir: dir, Signer: me}, "http://a.test/2", "http://a.test/3")
		ledgerRun(t, ledger.Options{Dir: other, Signer: me}, "http://a.test/")
		theirs, _ := latest(t, other)
		short := first.Short()
		for name, c := range map[string]struct {
			head  string
			want  string
			since int64
		}{
			"the note":              {string(first.Marshal()), "", 2},
			"short":                 {short, "", 2},
			"in capitals":           {" " + strings.ToUpper(short) + "\n", "", 2},
			"of nothing":            {"0:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "", 3},
			"another root":          {fmt.Sprintf("%d:%064x", first.Size, 7), "ledger-head", 0},
			"of another ledger":     {string(theirs.Marshal()), "ledger-head", 0},
			"of more than there is": {fmt.Sprintf("%d:%x", 1000, first.Root[:]), "ledger-head", 0},
		} {
			h, err := checkpoint.ParseKept(c.head)
			require.NoError(t, err, name)
			v, codes := vouchedFor(t, Options{Dir: dir, Heads: []checkpoint.Checkpoint{h}})
			assert.Truef(t, codes == c.want && (len(v.Lodged) == 1) == (c.want == "") && v.Since == c.since, "%s: %+v, %q", name, v, codes)
		}
		for _, bad := range []string{"", "1", "x:y", "1:00", "-1:" + strings.Repeat("0", 64), strings.Repeat("1", 30) + ":" + strings.Repeat("0", 64),
			strings.Repeat("a", 1<<20), "a\n1\n"} {
			h, err := checkpoint.ParseKept(bad)
			assert.Errorf(t, err, "%.80q is %+v", bad, h)
		}
	})
}

func TestVouch_WitnessCoversItsCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		me := signer(t, "me")
		w, dir := witnessSigner(t), filepath.Join(t.TempDir(), "ledger")
		var times []time.Time
		for i := range 3 {
			ledgerRun(t, ledger.Options{Dir: dir, Signer: me}, fmt.Sprintf("http://a.test/%d", i))
			cosigned(t, dir, w)
			times = append(times, time.Now())
			time.Sleep(time.Hour)
		}
		o := Options{Dir: dir, Witnesses: []checkpoint.Key{w.Key()}}
		if _, codes := vouchedFor(t, Options{Dir: dir, Witnesses: []checkpoint.Key{w.Key(), signer(t, "another witness").Key()}}); codes != "cosignature" {
			t.Errorf("of a witness that cosigned nothing: %q", codes)
		}
		v, codes := vouchedFor(t, o)
		if codes != "" || len(v.Lodged) != 2 || !v.Lodged[0].At.Equal(times[0]) || !v.Lodged[1].At.Equal(times[2]) || v.Lodged[1].By != w.Name() ||
			v.Lodged[1].How != audit.ByWitness || v.Lodged[1].Size != v.Entries {
			t.Errorf("%+v, %q", v, codes)
		}
		if v, codes := vouchedFor(t, Options{Dir: dir}); codes != "" || len(v.Lodged) > 0 {
			t.Errorf("of an unknown witness: %+v, %q", v, codes)
		}
		// Of another ledger it vouches for no line of this one.
		fork := filepath.Join(t.TempDir(), "ledger")
		require.NoError(t, os.CopyFS(fork, os.DirFS(dir)))
		ledgerRun(t, ledger.Options{Dir: fork, Signer: me}, "http://a.test/fork")
		ledgerRun(t, ledger.Options{Dir: dir, Signer: me}, "http://a.test/here")
		cosigned(t, fork, w)
		theirs, path := latest(t, fork)
		here, _ := latest(t, dir)
		require.Equal(t, here.Size, theirs.Size, "the forks are not as long as each other")
		ledgerRun(t, ledger.Options{Dir: dir, Signer: me}, "http://a.test/more")
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(ledger.CheckpointPath(dir, theirs.Size), b, 0o644))
		if _, codes := vouchedFor(t, o); codes != "ledger-fork ledger-fork" { // by the witness, and by the operator's later checkpoint
			t.Errorf("a fork: %q", codes)
		}
		if _, codes := vouchedFor(t, Options{Dir: dir}); codes != "ledger-fork" {
			t.Errorf("a fork, with no witness known: %q", codes)
		}
		// No other key signs under its name.
		n, path := latest(t, dir)
		sig, _ := w.Cosign(n)
		sig.Octets = bytes.Clone(sig.Octets)
		sig.Octets[len(sig.Octets)-1] ^= 1
		n.Add(sig)
		require.NoError(t, os.WriteFile(path, n.Marshal(), 0o644))
		if _, codes := vouchedFor(t, o); codes != "cosignature ledger-fork ledger-fork" {
			t.Errorf("an invalid cosignature: %q", codes)
		}
	})
}

func TestVouch_MissingLinesAreNotAFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := witnessSigner(t), filepath.Join(t.TempDir(), "ledger")
		ledgerRun(t, ledger.Options{Dir: dir, Signer: signer(t, "me")}, "http://a.test/", "http://a.test/2")
		n := cosigned(t, dir, w)
		segment := filepath.Join(dir, "000000.jsonl")
		b, err := os.ReadFile(segment)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(segment, b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1], 0o644))
		v, codes := vouchedFor(t, Options{Dir: dir, Witnesses: []checkpoint.Key{w.Key()}, Heads: []checkpoint.Checkpoint{n.Checkpoint}})
		assert.Truef(t, codes == "ledger-head" && len(v.Lodged) <= 0, "%+v, %q", v, codes)
	})
}

func TestVouch_CheckpointMadeDuringAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "ledger")
		require.NoError(t, os.MkdirAll(ledger.CheckpointFolderOf(dir), 0o700))
		var logs [2]*vouched
		for i := range logs {
			var err error
			logs[i], err = newVouched(&Options{Dir: dir})
			require.NoError(t, err)
		}
		ledgerRun(t, ledger.Options{Dir: dir, Signer: signer(t, "me")}, "http://a.test/")
		_, codes := closed(t, logs[0])
		assert.Truef(t, codes == "", "%q", codes)
		sizes, err := ledger.Checkpoints(dir)
		require.NoError(t, err)
		require.NoError(t, os.Remove(ledger.CheckpointPath(dir, sizes[0])))
		_, codes = closed(t, logs[1])
		assert.Truef(t, codes == "ledger-root", "taken away: %q", codes)
	})
}

func TestUncovered_NoMoreThanAKillLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first   time.Duration   // from the beginning of the run to its first exchange
		pauses  []time.Duration // from there to each of the next
		ahead   time.Duration   // of the clock, in the last
		noBegin bool            // the run has no checkpoint
		dropped bool            // its checkpoints behind the first are taken away
		moved   time.Duration   // the last exchange is dated so much later
		goesOn  bool            // another run follows
		stops   bool
		want    string
	}{
		"soon":                             {pauses: []time.Duration{time.Second}},
		"within the interval":              {pauses: []time.Duration{9 * time.Minute}},
		"hours after the run began":        {first: 5 * time.Hour, pauses: []time.Duration{9 * time.Minute}},
		"hours apart":                      {pauses: []time.Duration{5 * time.Hour, time.Minute}},
		"an hour, one a minute":            {pauses: slices.Repeat([]time.Duration{time.Minute}, 60)},
		"the clock jumps":                  {pauses: []time.Duration{time.Minute}, moved: 5 * time.Hour, ahead: 5 * time.Hour},
		"a run follows":                    {pauses: []time.Duration{9 * time.Minute}, goesOn: true},
		"the run stops":                    {pauses: []time.Duration{5 * time.Hour}, stops: true},
		"moved":                            {pauses: []time.Duration{time.Minute}, moved: 3 * time.Hour, want: "ledger-root"},
		"moved, and a run follows":         {pauses: []time.Duration{time.Minute}, moved: 3 * time.Hour, goesOn: true, want: "ledger-root"},
		"an hour, its checkpoints dropped": {pauses: slices.Repeat([]time.Duration{time.Minute}, 60), dropped: true, want: "ledger-root"},
		"a run without a checkpoint":       {noBegin: true, pauses: []time.Duration{time.Second}, want: "ledger-root"},
		"the same, and a run follows":      {noBegin: true, pauses: []time.Duration{time.Second}, goesOn: true, want: "ledger-root"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := ledger.Options{Dir: filepath.Join(t.TempDir(), "ledger"), Signer: signer(t, "me")}
				w, err := ledger.Open(o)
				require.NoError(t, err)
				if !c.noBegin {
					err = w.Begin(t.Context())
				}
				for i, pause := range append([]time.Duration{c.first}, c.pauses...) {
					time.Sleep(pause)
					l := storage.Line{Time: time.Now(), URL: "http://a.test/", Decision: "allow", Attempt: 1, Began: time.Now()}
					if i == len(c.pauses) {
						l.Began, l.Ahead = l.Began.Add(c.moved), c.ahead
					}
					err = errors.Join(err, w.Append(t.Context(), l))
				}
				require.NoError(t, errors.Join(err, w.Sync(t.Context())))
				if c.stops {
					require.NoError(t, w.Close())
				} else {
					defer w.Close()
				}
				synctest.Wait()
				killed := filepath.Join(t.TempDir(), "ledger")
				require.NoError(t, os.CopyFS(killed, os.DirFS(o.Dir)))
				o.Dir = killed
				sizes, err := ledger.Checkpoints(o.Dir)
				for i, size := range sizes {
					if i > 0 && c.dropped {
						err = errors.Join(err, os.Remove(ledger.CheckpointPath(o.Dir, size)))
					}
				}
				require.NoError(t, err)
				if c.goesOn {
					ledgerRun(t, o, "http://a.test/2")
				}
				_, codes := vouchedFor(t, Options{Dir: o.Dir})
				assert.Falsef(t, codes != c.want && !strings.HasPrefix(codes, c.want+" "), "%q, want %q", codes, c.want)
			})
		})
	}
}

func TestUncovered_NoExchangeBehindTheStop(t *testing.T) {
	t.Parallel()
	u := uncovered{has: true, over: true}
	u.line(&storage.Line{Time: time.Now()}, 7) // an operator closes the queue
	assert.Empty(t, u.wrong)
	u.line(&storage.Line{Time: time.Now(), Began: time.Now()}, 8)
	assert.Len(t, u.wrong, 1)
}
