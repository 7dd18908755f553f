package scoreboard

import (
	"encoding/binary"
	"fmt"
	"strings"

	"curtsy/crawler/crawltest"
)

// font makes a font of one letter, A, a square that is 300 + n units of 1,000 wide.
func font(ext string, n int) (crawltest.Page, string) {
	advance := 300 + n
	tables := fontTables(advance)
	p, want := crawltest.Page{Type: "font/ttf"}, fmt.Sprintf("%.1f", float64(advance)/10)
	if ext == ".woff" {
		p.Type, p.Body = "font/woff", woff(tables)
		return p, want
	}
	p.Body = sfnt(tables)
	return p, want
}

// fontTable is a table of a font; they stand in the order of their tags.
type fontTable struct{ tag, data string }

// be writes numbers of 16 bits, most significant byte first.
func be(v ...int) string {
	var b []byte
	for _, n := range v {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return string(b)
}

// fontTables are the tables that OpenType requires of a font with outlines of TrueType.
func fontTables(advance int) []fontTable {
	square := be(1, 0, 0, 200, 700, 3, 0) + "\x01\x01\x01\x01" + be(0, 200, 0, -200) + be(0, 0, 700, 0)
	return []fontTable{
		{"OS/2", be(3, advance, 400, 5, 0) + be(650, 700, 0, 140, 650, 700, 0, 480, 50, 258, 0) + strings.Repeat("\x00", 10) +
			strings.Repeat("\x00", 16) + "NONE" + be(0x40, 'A', 'A', 800, -200, 0, 800, 200) + strings.Repeat("\x00", 8) +
			be(500, 700, 0, 32, 0)},
		{"cmap", be(0, 1, 3, 1, 0, 12) + be(4, 32, 0, 4, 4, 1, 0, 'A', 0xffff, 0, 'A', 0xffff, 1-'A', 1, 0, 0)},
		{"glyf", square},
		{"head", be(1, 0, 1, 0, 0, 0, 0x5f0f, 0x3cf5, 3, 1000) + strings.Repeat("\x00", 16) +
			be(0, 0, 200, 700, 0, 8, 2, 0, 0)},
		{"hhea", be(1, 0, 800, -200, 0, advance, 0, 0, 200, 1, 0, 0, 0, 0, 0, 0, 0, 2)},
		{"hmtx", be(advance, 0, advance, 0)},
		{"loca", be(0, 0, len(square)/2)},
		{"maxp", be(1, 0, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)},
		{"name", be(0, 0, 6)},
		{"post", be(3, 0) + strings.Repeat("\x00", 28)},
	}
}

func padded(s string) string { return s + strings.Repeat("\x00", (4-len(s)%4)%4) }

func checksum(s string) (sum uint32) {
	for s = padded(s); s != ""; s = s[4:] {
		sum += binary.BigEndian.Uint32([]byte(s[:4]))
	}
	return sum
}

// sfnt is the font as TrueType has it.
func sfnt(tables []fontTable) string {
	head := []byte(be(1, 0, len(tables), 128, 3, 16*len(tables)-128))
	at, body := 12+16*len(tables), ""
	for _, t := range tables {
		head = append(head, t.tag...)
		for _, n := range []uint32{checksum(t.data), uint32(at + len(body)), uint32(len(t.data))} {
			head = binary.BigEndian.AppendUint32(head, n)
		}
		body += padded(t.data)
	}
	return string(head) + body
}

// woff is the font as WOFF has it, its tables not compressed (Web Open Font Format 1.0, 4 and 5).
func woff(tables []fontTable) string {
	at, body := 44+20*len(tables), ""
	var dir []byte
	for _, t := range tables {
		dir = append(dir, t.tag...)
		n := uint32(len(t.data))
		for _, v := range []uint32{uint32(at + len(body)), n, n, checksum(t.data)} {
			dir = binary.BigEndian.AppendUint32(dir, v)
		}
		body += padded(t.data)
	}
	head := []byte("wOFF\x00\x01\x00\x00")
	head = binary.BigEndian.AppendUint32(head, uint32(at+len(body)))
	head = append(head, be(len(tables), 0)...)
	head = binary.BigEndian.AppendUint32(head, uint32(len(sfnt(tables))))
	head = append(head, be(1, 0)...)
	head = append(head, make([]byte, 20)...)
	return string(head) + string(dir) + body
}
