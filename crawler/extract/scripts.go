package extract

import (
	"context"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
	"curtsy/storage/script"
)

// Scripts calls found with what the scripts in a page, or a script or JSON of its own, name that looks like a file: with
// the name, and with each URL that it may mean. The page that loads a script may be zero. It waits as HTML does, and errs as
// HTML does.
func (x *Extractor) Scripts(
	ctx context.Context, in Input, kind Kind, page canon.URL, found func(name string, u canon.URL),
) (script.Cut, error) {
	if in.Body == nil {
		return "", ctx.Err()
	}
	release, err := x.turn(ctx, in)
	if err != nil {
		return "", failed(in, err)
	}
	defer release()
	src := &coding.Limited{Ctx: ctx, R: in.Body, Left: script.MaxRead}
	body, err := octets(src, in.Size)
	if err != nil {
		return "", failed(in, err)
	}
	cut := script.Cut("")
	read := func(text []byte, at, page canon.URL) {
		why := script.Find(text, func(name string) {
			for u := range script.Places(name, at, page) {
				found(strings.Clone(name), u)
			}
		})
		if why != "" {
			cut = why
		}
	}
	if kind != KindPage {
		if read(body, in.URL, page); src.Over {
			cut = script.CutLong
		}
		return cut, nil
	}
	o := markup.Options{URL: in.URL, ContentType: in.ContentType, Script: func(text, kind string, base canon.URL) {
		if script.IsElement(kind) {
			read([]byte(text), base, canon.URL{})
		}
	}}
	// Others say what the page is besides, and that it cannot be read.
	_ = markup.Find(markup.HTML, body, o, func(markup.Ref) {})
	return cut, nil
}
