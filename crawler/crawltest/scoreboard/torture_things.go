package scoreboard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"

	"curtsy/crawler/crawltest"
)

// made makes the n-th resource, by its extension, and says what tells it from all others.
func made(ext string, n int) (crawltest.Page, string) {
	switch ext {
	case ".wav":
		return wav(n)
	case ".woff", ".ttf":
		return font(ext, n)
	case ".vtt":
		return track(n)
	}
	return picture(ext, n)
}

// picture makes a picture that is n pixels wider than eight.
func picture(ext string, n int) (crawltest.Page, string) {
	w, h := 8+n, 8+n%5
	size := sizeOf(w, h)
	if ext == ".svg" {
		return crawltest.Page{Type: "image/svg+xml", Body: svg(w, h, "")}, size
	}
	img := image.NewPaletted(image.Rect(0, 0, w, h),
		color.Palette{color.White, color.RGBA{uint8(40 * n), uint8(n), 120, 255}})
	for i := range img.Pix {
		img.Pix[i] = uint8(i / 3 % 2)
	}
	var b bytes.Buffer
	var err error
	p := crawltest.Page{Type: "image/png"}
	switch ext {
	case ".gif":
		p.Type, err = "image/gif", gif.Encode(&b, img, nil)
	case ".jpg":
		p.Type, err = "image/jpeg", jpeg.Encode(&b, img, nil)
	default: // also what has another extension, or none
		err = png.Encode(&b, img)
	}
	if err != nil {
		panic(err) // an image of a fixed, legal size in memory
	}
	p.Body = b.String()
	return p, size
}

// svg makes a drawing of a size with something in it.
func svg(w, h int, within string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%d" height="%d" viewBox="0 0 %[1]d %d">`+
		`<rect width="%[1]d" height="%d" fill="teal"/>%s</svg>`+"\n", w, h, within)
}

// wav makes silence: a tenth of a second for each n.
func wav(n int) (crawltest.Page, string) {
	const rate = 4000 // samples of one byte a second
	length := uint32(rate / 10 * n)
	var b bytes.Buffer
	put := func(v ...any) {
		for _, v := range v {
			_ = binary.Write(&b, binary.LittleEndian, v) // a bytes.Buffer takes everything
		}
	}
	b.WriteString("RIFF")
	put(36 + length)
	b.WriteString("WAVEfmt ")
	put(uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate), uint16(1), uint16(8))
	b.WriteString("data")
	put(length)
	b.Write(bytes.Repeat([]byte{0x80}, int(length)))
	return crawltest.Page{Type: "audio/wav", Body: b.String()}, fmt.Sprintf("%.1f", float64(n)/10)
}

// track makes WebVTT of n%7+1 cues.
func track(n int) (crawltest.Page, string) {
	var b bytes.Buffer
	b.WriteString("WEBVTT\n")
	for i := range n%7 + 1 {
		fmt.Fprintf(&b, "\n00:0%d.000 --> 00:0%d.900\nline %d\n", i, i, i)
	}
	return crawltest.Page{Type: "text/vtt; charset=utf-8", Body: b.String()}, fmt.Sprint(n%7 + 1)
}

func sizeOf(w, h int) string { return fmt.Sprintf("%dx%d", w, h) }
