package warc

import (
	"bytes"
	"compress/flate"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	kflate "github.com/klauspost/compress/flate"

	"curtsy/storage"
)

// someTexts are n texts as archives have them, of sites that are not alike.
func someTexts(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := func() string {
		b := make([]byte, 8)
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[rng.IntN(26+10*rng.IntN(2))]
		}
		return string(b)
	}
	words := strings.Fields("index news article about contact blog product category tag search page images static assets css js main site " +
		"the of and to in for on with archive library gardens harbour kitchen letters markets notices wiki help docs api en de fr " +
		"user profile login events calendar 2026 2025 january march report story item view download press media video photo gallery")
	word := func() string { return words[rng.IntN(len(words))] }
	id := func() string {
		var u uuid.UUID
		for i := range u {
			u[i] = byte(rng.Uint32())
		}
		return u.URN()
	}
	sum := func() (d digest) {
		for i := range d {
			d[i] = byte(rng.Uint32())
		}
		return d
	}
	var texts [][]byte
	for len(texts) < n {
		host := []string{"www.", "", "blog.", "docs."}[rng.IntN(4)] + word() + word() + []string{".org", ".com", ".test", ".de", ".co.uk"}[rng.IntN(5)]
		if rng.IntN(4) == 0 {
			host = fmt.Sprintf("10.%d.%d.%d:%d", rng.IntN(256), rng.IntN(256), rng.IntN(256), 1024+rng.IntN(60000))
		}
		scheme := []string{"https://", "https://", "http://"}[rng.IntN(3)]
		target := func() string {
			path := ""
			for range rng.IntN(4) {
				path += "/" + word()
			}
			return path + "/" + word() + "-" + []string{word(), letters()}[rng.IntN(2)] + []string{"", ".html", "/", ".php?id=" + fmt.Sprint(rng.IntN(9999)), fmt.Sprint(rng.IntN(999)), "%C3%A9.html"}[rng.IntN(6)]
		}
		path, date := target(), time.Date(2026, 11, 20, rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1e9), time.UTC)
		h := head{kind: "request", id: id(), date: date, target: scheme + host + path, info: id(), concurrent: id(), last: id(), media: typeRequest,
			addr: netip.AddrFrom4([4]byte{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}), protocols: []string{"http/1.1", "tls/1.3"}, block: sum()}
		block := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: curtsy/0.1.0 (+https://" + word() + ".test/bot)\r\n" +
			"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, br\r\n\r\n"
		h.length = int64(len(block))
		texts = append(texts, append(append(h.append(nil), block...), recordEnd...))
		payload := sum()
		l := storage.Line{
			Via: scheme + host + target(), Depth: rng.IntN(9), Kind: "link", Seed: scheme + host + "/", Took: time.Duration(rng.IntN(1e9)), Began: date, FirstByte: time.Duration(rng.IntN(1e8)),
			Decision: "allow", Reason: "no match", Outcome: "fetched", Status: 200, Attempt: 1, RobotsLine: rng.IntN(50), RobotsRule: "/", RobotsGroup: "*",
			RobotsSHA256: hex.EncodeToString(payload[:]), Standard: "rfc9309", RobotsRecord: id(), Pace: time.Duration(rng.IntN(5)) * time.Second, PaceBy: "floor", Gap: time.Duration(rng.IntN(1e9)),
		}
		links := make([]storage.Outlink, rng.IntN(80))
		for i := range links {
			links[i] = storage.Outlink{URL: scheme + host + target(), Kind: []string{"link", "link", "embed"}[rng.IntN(3)]}
		}
		meta := appendMetadata(nil, &storage.Record{Line: &l, Outlinks: links})
		h = head{kind: "metadata", id: h.last, date: date, target: h.target, info: h.info, concurrent: h.concurrent, media: typeFields, block: sum(), length: int64(len(meta))}
		texts = append(texts, append(append(h.append(nil), meta...), recordEnd...))
	}
	return texts
}

// inflate decompresses with the standard library.
func inflate(t testing.TB, b []byte) []byte {
	t.Helper()
	rest := bytes.NewReader(b)
	text, err := io.ReadAll(flate.NewReader(rest))
	if err != nil || rest.Len() != 0 {
		t.Fatalf("%d octets are left: %v", rest.Len(), err)
	}
	return text
}

func TestTextsComeBack(t *testing.T) {
	c, met := newTextCode(), new(textTable)
	all := someTexts(200)
	ascii := func(n int) []byte {
		b := noise(n)
		for i := range b {
			b[i] &= 0x7f
		}
		return b
	}
	all = append(all, nil, []byte("a"), []byte("abcdefg"), ascii(20000), ascii(textWindow), bytes.Repeat([]byte{0}, textWindow), bytes.Repeat([]byte("abcde"), 500))
	far := ascii(textWindow)
	copy(far[textWindow-300:], far[:300]) // nearly the longest distance
	for _, text := range append(all, far) {
		if !c.can(text) {
			t.Fatalf("%q cannot be written", text)
		}
		if got := inflate(t, c.compress(nil, text, met)); !bytes.Equal(got, text) {
			t.Fatalf("%d octets came back as %d", len(text), len(got))
		}
	}
}

func FuzzTextsComeBack(f *testing.F) {
	for _, text := range someTexts(4) {
		f.Add(text)
	}
	f.Add(append(noise(300), noise(300)...))
	c, met := newTextCode(), new(textTable)
	f.Fuzz(func(t *testing.T, text []byte) {
		if is := len(text) <= textWindow && bytes.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0; c.can(text) != is {
			t.Fatalf("%q can be written: %v", text, !is)
		}
		if !c.can(text) {
			return
		}
		if got := inflate(t, c.compress(nil, text, met)); !bytes.Equal(got, text) {
			t.Fatalf("%q came back as %q", text, got)
		}
	})
}

// The code is worth it as long as what it makes is as short as what a code for each text would make.
func TestTextCodeFits(t *testing.T) {
	c, met := newTextCode(), new(textTable)
	ours, theirs := 0, 0
	var b bytes.Buffer
	z, _ := kflate.NewWriter(&b, 1)
	var literals, distances [286]int
	for i := range 128 { // rare ones have words, too
		literals[i] = 1
	}
	for i := range 30 {
		literals[256+i], distances[i] = 1, 1
	}
	for _, text := range someTexts(400) {
		ours += len(c.compress(nil, text, met))
		b.Reset()
		z.Reset(&b)
		z.Write(text)
		z.Close()
		theirs += b.Len()
		tally(text, &literals, &distances)
	}
	t.Logf("%d octets; level 1 has %d", ours, theirs)
	if ours*100 > theirs*101 {
		t.Errorf("%d octets, and level 1 has %d", ours, theirs)
	}
	best := [2]string{fitting(literals[:], 12), fitting(distances[:30], 12)}
	t.Logf("what would fit best, and how it is told:\n%s\n%s\n%s", best[0], best[1], telling(best[0]+best[1]))
	for i, code := range []struct {
		name, lengths string
		counts        []int
	}{{"textLengths", textLengths, literals[:]}, {"textDistances", textDistances, distances[:30]}} {
		have, could := 0, 0
		for k, n := range code.counts {
			have += n * int(digit(code.lengths[k]))
			could += n * int(digit(best[i][k]))
		}
		if have*100 > could*102 {
			t.Errorf("%s: %d bits, and %d in what fits best", code.name, have, could)
		}
	}
	if told := telling(textLengths + textDistances); told != textCodeLengths {
		t.Errorf("textCodeLengths: %s tells it best", told)
	}
}

// telling returns the lengths of the words in which lengths are told.
func telling(lengths string) string {
	var counts [19]int
	last := byte(0)
	for all := lengths; all != ""; {
		same := 1
		for same < min(len(all), 138) && all[same] == all[0] {
			same++
		}
		switch {
		case all[0] == '0' && same >= 11:
			counts[18]++
		case all[0] == last && same >= 3:
			same = min(same, 6)
			counts[16]++
		default:
			same = 1
			counts[digit(all[0])]++
		}
		last, all = all[0], all[same:]
	}
	return fitting(counts[:], 7)
}

// tally adds what occurs in text: literals and lengths, and distances.
func tally(text []byte, literals, distances *[286]int) {
	met := map[string]int{}
	for i := 0; i < len(text); {
		octets := 1
		if i+4 <= len(text) {
			if at, ok := met[string(text[i:i+4])]; ok {
				octets = matching(text, at, i)
				s, _, _ := lengthSymbol(octets)
				literals[257+s]++
				s, _, _ = distanceSymbol(i - at)
				distances[s]++
			}
			met[string(text[i:i+4])] = i
		}
		if octets == 1 {
			literals[text[i]]++
		}
		i += octets
	}
	literals[256]++
}

// fitting returns the lengths, of at most so many bits, that are the best for symbols that occur so often
// (package-merge: Larmore and Hirschberg, A fast algorithm for optimal length-limited Huffman codes, JACM 37, 1990).
func fitting(counts []int, most int) string {
	type coin struct {
		weight  int
		symbols []int
	}
	byWeight := func(a, b coin) int { return a.weight - b.weight }
	var single, row []coin
	for s, n := range counts {
		if n > 0 {
			single = append(single, coin{n, []int{s}})
		}
	}
	slices.SortStableFunc(single, byWeight)
	for range most {
		var pairs []coin
		for p := range slices.Chunk(row, 2) {
			if len(p) == 2 {
				pairs = append(pairs, coin{p[0].weight + p[1].weight, slices.Concat(p[0].symbols, p[1].symbols)})
			}
		}
		row = slices.Concat(single, pairs)
		slices.SortStableFunc(row, byWeight)
	}
	lengths := bytes.Repeat([]byte{'0'}, len(counts))
	n := make([]int, len(counts))
	for _, c := range row[:2*len(single)-2] {
		for _, s := range c.symbols {
			n[s]++
		}
	}
	for i := range n {
		lengths[i] = "0123456789abcdef"[n[i]]
	}
	return string(lengths)
}
