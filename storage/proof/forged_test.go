package proof

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"

	"github.com/stretchr/testify/require"
)

func keysOf(all ...*checkpoint.Signer) (keys []checkpoint.Key) {
	for _, s := range all {
		keys = append(keys, s.Key())
	}
	return keys
}

type forgery struct {
	name  string
	forge func(t testing.TB, m members)
	want  Code
}

// forgeries are ways to change a bundle. Each also fixes the manifest.
func forgeries(t testing.TB) (w *world, note []byte, all []forgery) {
	t.Helper()
	w = newWorld(t, 1)
	w.visit("a.test", 6)
	w.visit("b.test", 6)
	w.visit("c.test", 3)
	first := cosigned(t, w.commit(), testWitness(t))
	w.page("a.test", "/later", strings.TrimSuffix(strings.TrimPrefix(robotsIn(unpacked(t, w.bundle("a.test", first))), robotsFolder), robotsEnd))
	w.mark(`{"mark":"stop","time":"` + w.clock() + `","lines":25}`)
	note = cosigned(t, w.commit(), testWitness(t))
	other := newWorld(t, 2)
	other.visit("x.test", 1)
	other.visit("a.test", 6)
	foreign := unpacked(t, other.bundle("a.test", other.commit()))

	replace := func(member, old, by string) func(testing.TB, members) {
		return func(t testing.TB, m members) { m.replace(t, member, old, by) }
	}
	return w, note, []forgery{
		{"a line is changed", replace(linesName, `"status":200`, `"status":404`), BadInclusion},
		{"a line is left out", func(t testing.TB, m members) {
			lines := bytes.SplitAfter(m[linesName], []byte("\n"))
			m[linesName] = bytes.Join(append(lines[:3:3], lines[4:]...), nil)
		}, Omitted},
		{"a line is swapped for one of another crawl", func(t testing.TB, m members) {
			mine, theirs := bytes.SplitAfter(m[linesName], []byte("\n")), bytes.SplitAfter(foreign[linesName], []byte("\n"))
			a, _ := parseRow(bytes.TrimSuffix(mine[4], []byte("\n")))
			b, _ := parseRow(bytes.TrimSuffix(theirs[4], []byte("\n")))
			mine[4] = Row{a.Index, b.Public}.append(nil)
			m[linesName] = bytes.Join(mine, nil)
		}, BadInclusion},
		{"the checkpoint is of another origin", func(t testing.TB, m members) {
			c := w.head()
			c.Origin = other.origin
			m[checkpointName], _ = w.signer.Sign(c)
		}, BadOrigin},
		{"a stranger has signed it", func(t testing.TB, m members) {
			m[checkpointName], _ = other.signer.Sign(w.head())
		}, BadSignature},
		{"a node of the proof is changed", func(t testing.TB, m members) {
			i := bytes.Index(m[proofName], []byte(`["`)) + 2
			m[proofName][i] = map[bool]byte{true: '0', false: '1'}[m[proofName][i] == '1']
		}, BadInclusion},
		{"the entry of the map is changed", replace(proofName, `"count":9`, `"count":8`), BadMap},
		{"a robots.txt is changed", func(t testing.TB, m members) {
			name := robotsIn(m)
			m[name] = bytes.Replace(m[name], []byte("/private/"), []byte("/p"), 1)
		}, BadRobots},
		{"the page is changed", replace(pageName, "requests</", "requests </"), BadPage},
		{"a head is changed", replace(headsName, "curtsy/0.1.0", "Mozilla/5.0"), BadHeads},
		{"the checkpoint is rolled back", func(t testing.TB, m members) { m[checkpointName] = first }, BadMark},
		{"a cosignature is forged", func(t testing.TB, m members) {
			n, _ := checkpoint.Parse(m[checkpointName])
			n.Signatures[1].Octets[40] ^= 1
			m[checkpointName] = n.Marshal()
		}, BadCosignature},
		{"another host's line is added", func(t testing.TB, m members) {
			b := unpacked(t, w.bundle("b.test", note))
			m[linesName], m[headsName], m[proofName] = b[linesName], b[headsName], b[proofName]
		}, OtherHost},
		{"a line is declared redacted", func(t testing.TB, m members) {
			lines := bytes.SplitAfter(m[linesName], []byte("\n"))
			r, _ := parseRow(bytes.TrimSuffix(lines[5], []byte("\n")))
			h, _ := r.hash()
			lines[5] = Row{r.Index, ledger.Stub(h)}.append(nil)
			m[linesName] = bytes.Join(lines, nil)
		}, Unredacted},
		{"the signature is left out", func(t testing.TB, m members) {
			m[checkpointName] = append(w.head().Text(), '\n')
		}, BadSignature},
		{"the host is declared absent", func(t testing.TB, m members) {
			m[linesName], m[headsName] = nil, nil
			m[proofName] = unpacked(t, w.bundle("nobody.test", note))[proofName]
		}, BadMap},
		{"a robots.txt is added", func(t testing.TB, m members) {
			for name, b := range foreign {
				if strings.HasPrefix(name, robotsFolder) {
					m["robots/0000000000000000000000000000000000000000000000000000000000000000.txt"] = b
				}
			}
		}, BadRobots},
		{"the mark that begins the log is left out", func(t testing.TB, m members) {
			_, m[marksName], _ = bytes.Cut(m[marksName], []byte("\n"))
		}, BadMark},
	}
}

func robotsIn(m members) string {
	for name := range m {
		if strings.HasPrefix(name, robotsFolder) {
			return name
		}
	}
	return ""
}

func TestEveryForgeryIsFound(t *testing.T) {
	w, note, all := forgeries(t)
	o := Options{Key: w.signer.Key(), Witnesses: keysOf(testWitness(t))}
	honest := w.bundle("a.test", note)
	if r := verified(t, honest, o); !r.Holds {
		t.Fatalf("%+v", r.Findings)
	}
	r := verified(t, unpacked(t, honest).packed(t), o)
	require.True(t, r.Holds, "packed again: %+v", r.Findings)
	for _, f := range all {
		m := unpacked(t, honest)
		f.forge(t, m)
		r := verified(t, m.packed(t), o)
		if r.Holds || r.Counts[f.want] == 0 || r.Level != NoLevel {
			t.Errorf("%s: %v, want %s: %+v", f.name, r.Counts, f.want, r.Findings)
		}
	}
}

func TestAWrongVerdictIsFound(t *testing.T) {
	for name, change := range map[string]func(w *world, sha string){
		"a forbidden page was fetched": func(w *world, sha string) { w.page("a.test", "/private/y", sha) },
		"an allowed page is declared forbidden": func(w *world, sha string) {
			w.line(storage.Line{URL: "http://a.test/free", Decision: storage.DecisionDisallow, RobotsLine: 2, RobotsRule: "Disallow: /private/", RobotsSHA256: sha, Standard: "rfc9309"})
		},
		"another line is named as forbidding it": func(w *world, sha string) {
			w.line(storage.Line{URL: "http://a.test/private/z", Decision: storage.DecisionDisallow, RobotsLine: 3, RobotsRule: "Disallow: /private/", RobotsSHA256: sha, Standard: "rfc9309"})
		},
		"another rule is quoted": func(w *world, sha string) {
			w.line(storage.Line{URL: "http://a.test/private/z", Decision: storage.DecisionDisallow, RobotsLine: 2, RobotsRule: "Disallow: /", RobotsSHA256: sha, Standard: "rfc9309"})
		},
		"an older robots.txt decided": func(w *world, sha string) {
			w.visit("a.test", 0)
			w.robots("a.test", "/robots.txt", "User-agent: *\nDisallow: /\n")
			w.now = w.now.Add(25 * time.Hour)
			w.page("a.test", "/p/after", sha)
		},
		"the newer robots.txt decided, and then an older one": func(w *world, sha string) {
			newer := w.robots("a.test", "/robots.txt", testRobots+"# newer\n")
			w.now = w.now.Add(time.Minute)
			w.page("a.test", "/p/newer", newer)
			w.page("a.test", "/p/after", sha)
		},
	} {
		w := newWorld(t, 1)
		sha := w.visit("a.test", 2)
		change(w, sha)
		if r := verified(t, w.bundle("a.test", w.commit()), Options{}); r.Holds || r.Counts[BadVerdict] != 1 {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}

// RFC 9309 2.3.1.2: a read for another host's redirect sets no policy of its own host, and a line does not show it.
func TestRFC9309_2_3_1_2_RobotsOfAnotherHost(t *testing.T) {
	for _, path := range []string{"/robots.txt", "/robots2.txt"} {
		w := newWorld(t, 1)
		sha := w.visit("a.test", 2)
		for range 2 {
			w.robots("a.test", path, testRobots+"# for another\n")
			w.now = w.now.Add(time.Minute)
			w.page("a.test", "/p/after", sha)
		}
		if r := verified(t, w.bundle("a.test", w.commit()), Options{}); !r.Holds || r.Robots.Right+r.Robots.Unprovable != 5 ||
			(path == "/robots.txt") != (r.Robots.Unprovable == 2) {
			t.Errorf("%s: %+v, %+v", path, r.Robots, r.Findings)
		}
	}
}

func digest(b []byte) string { return Head{Request: b}.sum() }
