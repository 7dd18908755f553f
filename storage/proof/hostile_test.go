package proof

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/hostmap"
)

func bomb(t testing.TB, name string, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	f, err := z.Create(name)
	if err == nil {
		_, err = io.CopyN(f, zeros{}, size)
	}
	require.NoError(t, errors.Join(err, z.Close()))
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestVerify_RejectsOtherFiles(t *testing.T) {
	_, good := visited(t, 1)
	without := unpacked(t, good)
	delete(without, manifestName)
	twice := unpacked(t, good)
	of := func(m string) []byte { return members{manifestName: []byte(m)}.zipped(t, manifestName) }
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":                 {nil, "not a ZIP file"},
		"text":                  {[]byte("<html>"), "not a ZIP file"},
		"cut off":               {good[:len(good)/2], "not a ZIP file"},
		"no manifest":           {without.zipped(t, checkpointName), "it has no manifest.json"},
		"a member twice":        {twice.zipped(t, manifestName, linesName, linesName), `two members "lines.jsonl"`},
		"another format":        {of(`{"format":"curtsy-proof/2"}`), `its format is "curtsy-proof/2"`},
		"a manifest of no JSON": {of(`{`), "manifest.json cannot be read"},
		"a bomb":                {bomb(t, linesName, 16<<20), "decompresses to"},
		"a large checkpoint":    {bomb(t, checkpointName, 2<<20), `unfolds to`},
		"a large robots.txt":    {bomb(t, robotsFolder+strings.Repeat("0", 64)+robotsEnd, maxRobots+1), "decompresses to"},
	} {
		_, err := Verify(t.Context(), bytes.NewReader(c.b), int64(len(c.b)), Options{})
		if !errors.Is(err, ErrNoBundle) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestVerify_FindsInvalidParts(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("a.test", 2)
	note := w.commit()
	good := unpacked(t, w.bundle("a.test", note))
	var many bytes.Buffer
	many.Write(note)
	for i := range 5000 {
		fmt.Fprintf(&many, "\u2014 w%d %s\n", i, base64.StdEncoding.EncodeToString(make([]byte, 76)))
	}
	nodes, _ := json.Marshal(map[string]any{"nodes": make([]string, 0), "map": mapJSON{Siblings: []hostmap.Hash{}}})
	for name, c := range map[string]struct {
		member string
		b      []byte
		want   Code
		says   string
	}{
		"a note of 1 MiB":               {checkpointName, append(bytes.Clone(note), bytes.Repeat([]byte("x"), 1<<20)...), BadCheckpoint, "at most 65536 bytes"},
		"thousands of signatures":       {checkpointName, many.Bytes(), BadCheckpoint, "at most 65536 bytes"},
		"two hundred signatures":        {checkpointName, many.Bytes()[:20_000], BadCheckpoint, "at most 100 signatures"},
		"no checkpoint":                 {checkpointName, nil, BadCheckpoint, "not a signed note"},
		"a size that is too large":      {checkpointName, bytes.Replace(note, []byte("\n7\n"), []byte("\n9999999999999999999\n"), 1), BadCheckpoint, ""},
		"another size":                  {checkpointName, bytes.Replace(note, []byte("\n7\n"), []byte("\n4611686018427387904\n"), 1), BadMark, "last entry"},
		"a proof of no JSON":            {proofName, []byte("{"), BadMember, "proof.json: it"},
		"a proof of nothing":            {proofName, nodes, BadMap, "does not lead to the root"},
		"a proof with a million nodes":  {proofName, []byte(`{"nodes":[` + strings.Repeat(`"`+strings.Repeat("0", 64)+`",`, 1<<14) + `""],"map":{}}`), BadMember, "more than"},
		"a proof with long siblings":    {proofName, []byte(`{"nodes":[],"map":{"siblings":[` + strings.Repeat(`"`+strings.Repeat("0", 64)+`",`, 300) + `"` + strings.Repeat("0", 64) + `"]}}`), BadMember, "at most 256"},
		"a node that is not a hash":     {proofName, []byte(`{"nodes":["zz"],"map":{}}`), BadMember, `"zz" is not a SHA-256`},
		"lines of no JSON":              {linesName, []byte("{\"index\":1,\"line\":{}x}\n"), BadLine, "lines.jsonl line 1"},
		"a line without an end":         {linesName, []byte(`{"index":1,"line":{}}`), BadLine, "no end"},
		"lines that do not ascend":      {linesName, []byte("{\"index\":3,\"line\":{}}\n{\"index\":3,\"line\":{}}\n"), BadLine, "indexes ascend"},
		"a line behind the end":         {linesName, []byte("{\"index\":99,\"line\":{}}\n"), BadLine, "in a log of 7 entries"},
		"a mark among the lines":        {linesName, []byte("{\"index\":1,\"line\":{\"mark\":\"run\"}}\n"), BadLine, "is a mark"},
		"an invalid stub":               {linesName, []byte("{\"index\":1,\"line\":{\"redacted\":\"00\"}}\n"), BadLine, "not a stub"},
		"a line with white space":       {linesName, []byte("{\"index\":1,\"line\":{\"url\": \"http://a.test/\"}}\n"), BadLine, "white space"},
		"a line with a name twice":      {linesName, []byte("{\"index\":1,\"line\":{\"url\":\"x\",\"url\":\"http://a.test/\"}}\n"), BadLine, "twice"},
		"a line of another time":        {linesName, []byte("{\"index\":1,\"line\":{\"time\":\"2026-01-01T00:00:00.000000+00:00\",\"url\":\"http://a.test/\"}}\n"), BadLine, "not of the form"},
		"a mark of another time":        {marksName, []byte("{\"index\":0,\"line\":{\"mark\":\"stop\",\"time\":\"2026-01-01T00:00:00.000000+00:00\",\"lines\":0}}\n"), BadMark, "not of the form"},
		"a mark with white space":       {marksName, []byte("{\"index\":0,\"line\":{\"mark\":\"begin\", \"schema\":3}}\n"), BadMark, "white space"},
		"a negative index":              {linesName, []byte("{\"index\":-1,\"line\":{}}\n"), BadLine, "not a row"},
		"a line among the marks":        {marksName, []byte("{\"index\":0,\"line\":{}}\n"), BadMark, "not a mark"},
		"no marks":                      {marksName, nil, BadMark, ""},
		"a mark of the wrong type":      {marksName, []byte("{\"index\":0,\"line\":{\"mark\":\"begin\",\"schema\":\"x\"}}\n"), BadMark, "not a mark"},
		"a map without a root":          {marksName, []byte("{\"index\":0,\"line\":{\"mark\":\"hosts\",\"root\":\"x\"}}\n"), BadMark, "not a SHA-256"},
		"heads of no JSON":              {headsName, []byte("x\n"), BadHeads, "heads.jsonl line 1"},
		"heads outside of ISO 8859-1":   {headsName, []byte("{\"index\":2,\"request\":\"\u20ac\",\"answer\":\"\"}\n"), BadHeads, "above 0xFF"},
		"a member that no bundle has":   {"read-me.exe", []byte("x"), BadMember, `"read-me.exe" is not part`},
		"a member in a folder above it": {"../x", []byte("x"), BadMember, "not part"},
	} {
		m := maps.Clone(good)
		m[c.member] = c.b
		r := verified(t, m.packed(t), Options{})
		says := false
		for _, f := range r.Findings {
			says = says || f.Code == c.want && strings.Contains(f.Text, c.says)
		}
		if r.Holds || r.Counts[c.want] == 0 || !says {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}

func TestAMissingOrDamagedPartIsNamed(t *testing.T) {
	_, b := visited(t, 2)
	good := unpacked(t, b)
	for name := range good {
		if name == manifestName {
			continue
		}
		m := maps.Clone(good)
		delete(m, name)
		names := slices.Collect(maps.Keys(m))
		if r := verified(t, m.zipped(t, names...), Options{}); r.Counts[BadMember] == 0 && r.Counts[BadCheckpoint] == 0 {
			t.Errorf("without %s: %+v", name, r.Findings)
		}
		m[name] = append(bytes.Clone(good[name]), '\n')
		r := verified(t, m.zipped(t, append(names, name)...), Options{})
		assert.NotZerof(t, r.Counts[BadMember], "%s with an octet more: %+v", name, r.Findings)
	}
}

func TestAHostileBundleIsReadInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	_, good := visited(t, 2)
	m := unpacked(t, good)
	// As many nodes as a bundle of this size may unfold to: none is kept that its lines do not need.
	var nodes strings.Builder
	noise := rand.NewChaCha8([32]byte{}) // so that it is not taken for a bomb
	for range 1 << 17 {
		var h [32]byte
		noise.Read(h[:])
		fmt.Fprintf(&nodes, "\"%x\",", h)
	}
	m[proofName] = []byte(`{"nodes":[` + nodes.String() + `""],"map":{}}`)
	nodes.Reset()
	b := m.packed(t)
	clear(m)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := verified(t, b, Options{})
	runtime.ReadMemStats(&after)
	assert.False(t, r.Holds, "it holds")
	if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
		t.Errorf("%d MiB were allocated in all", n>>20)
	}
}

func FuzzVerify(f *testing.F) {
	w, note, all := forgeries(f)
	honest := unpacked(f, w.bundle("a.test", note))
	seed := func(m members) {
		f.Add(m[checkpointName], m[marksName], m[linesName], m[proofName], m[headsName], m[robotsIn(m)], m[pageName])
	}
	seed(honest)
	for _, g := range all {
		m := unpacked(f, w.bundle("a.test", note))
		g.forge(f, m)
		seed(m)
	}
	name, key := robotsIn(honest), w.signer.Key()
	f.Fuzz(func(t *testing.T, note, marks, lines, proof, heads, robots, page []byte) {
		m := members{manifestName: honest[manifestName], checkpointName: note, marksName: marks, linesName: lines, proofName: proof,
			headsName: heads, name: robots, pageName: page}
		b := m.packed(t)
		r, err := Verify(t.Context(), bytes.NewReader(b), int64(len(b)), Options{Key: key})
		if err != nil {
			require.ErrorIs(t, err, ErrNoBundle)
			return
		}
		if r.Holds && (!bytes.Equal(lines, honest[linesName]) || !bytes.Equal(robots, honest[name])) {
			t.Errorf("other lines hold under the same key: %q", lines)
		}
	})
}

func FuzzOpen(f *testing.F) {
	w, b := visited(f, 1)
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Verify(t.Context(), bytes.NewReader(file), int64(len(file)), Options{Key: w.signer.Key()})
		if err == nil && r.Holds && r.Summary.Lines != 3 {
			t.Errorf("it holds with %d lines", r.Summary.Lines)
		}
	})
}
