package scoreboard

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"strings"

	"curtsy/crawler/crawltest"
)

// Fonts of one letter, A, a square, as TrueType has it and as WOFF has it, its tables not compressed. Where they have its
// width there stands fontWidth.
var (
	//go:embed letter.ttf
	ttf string
	//go:embed letter.woff
	woff string
)

const fontWidth = "zz"

// font makes a font whose letter is 300 + n units of 1,000 wide. Browsers ignore the checksums of the tables.
func font(ext string, n int) (crawltest.Page, string) {
	p, advance := crawltest.Page{Type: "font/ttf", Body: ttf}, uint16(300+n)
	if ext == ".woff" {
		p = crawltest.Page{Type: "font/woff", Body: woff}
	}
	p.Body = strings.ReplaceAll(p.Body, fontWidth, string(binary.BigEndian.AppendUint16(nil, advance)))
	return p, fmt.Sprintf("%.1f", float64(advance)/10)
}
