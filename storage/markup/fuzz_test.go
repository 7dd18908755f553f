package markup

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var seeds = []string{
	`<base href=/b/><a href=x><img src=x srcset="x 1x, y 2x" integrity=q><p style='a:url("&amp;x")'><iframe srcdoc="<a href=&quot;y&quot;>">`,
	`<svg><image xlink:href=x /><style>a{b:url(x)}</style><title><a href=y></title></svg><template><a href=x></template><style>@import "x";</style>`,
	`<meta http-equiv=refresh content="1;url='x'"><meta charset=koi8-r><link rel=stylesheet href=x><!--[if IE]><a href=y><![endif]-->`,
	`@import url(x) layer(y); a{b:image-set("x" 1x, url( 'y' ));c:u\72l(z\))}`, `@charset "shift_jis";@import 'x`, `a{b:url("x" foo("y"`,
	`<?xml version="1.0"?><?xml-stylesheet href="x"?><!DOCTYPE svg [<!ENTITY a "b">]><s:image l:href="x"/>`,
	`{"icons":[{"src":"x"}],"start_url":"/"}`, "\xFF\xFE<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00", "<a href=\x1b$B\x46\x7c\x1b(Bx>", "<a href='\x81'>\x95\\",
	`<script async integrity = "x" = src=y><img src=a/src=b><a href = >`, `<p style=a:url(x);b:"c">`, "<a href=x\x00y>",
}

var contentTypes = []string{"text/html; charset=utf-8", "text/html", "text/html; charset=shift_jis", "text/html; charset=iso-2022-jp", "text/html; charset=utf-16le", "text/html; charset=gb18030", "text/html; charset=windows-1251", "text/html; charset=big5"}

// A visitor without replacements leaves every byte; otherwise the output has exactly the replacements.
func FuzzRewrite_FindsItsReplacements(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), byte(i), byte(i/2))
		f.Add([]byte(s), byte(0), byte(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, kind, coding byte) {
		o := options(t)
		o.ContentType = contentTypes[int(coding)%len(contentTypes)]
		rewrite := []rewriter{HTML, CSS, SVG, Manifest, XHTML}[kind%5]
		var before []string
		same, err := rewrite(in, o, func(r Ref) (string, bool) { before = append(before, line(r)); return "", false })
		if err != nil {
			return // an invalid manifest
		}
		require.Equalf(t, string(in), string(same), "nothing is replaced in %q, and it became %q", in, same)
		var want []string
		out, err := rewrite(in, o, func(r Ref) (string, bool) {
			if r.Role == Base {
				return "", false
			}
			r.Raw = fmt.Sprintf("r%d.x", len(want))
			want = append(want, line(r))
			return r.Raw, true
		})
		if err != nil {
			if o.ContentType == "text/html; charset=iso-2022-jp" || bytes.Contains(bytes.ToLower(in), []byte("2022")) {
				return
			}
			t.Fatalf("%q: %v", in, err)
		}
		if decidesAnew(in, out, o, kind) {
			return // the replaced bytes were among those that decide a guessed encoding
		}
		var got []string
		if _, err := rewrite(out, o, func(r Ref) (string, bool) {
			if r.Role != Base {
				got = append(got, line(r))
			}
			return "", false
		}); err != nil || !slices.Equal(got, want) {
			t.Fatalf("of %q as %s\ncame %q\nwhere\n%q is found, not\n%q; before\n%q %v", in, o.ContentType, out, got, want, before, err)
		}
	})
}

func decidesAnew(in, out []byte, o Options, kind byte) bool {
	decide := []func([]byte, Options) coding{htmlCoding, cssCoding, xmlCoding, func([]byte, Options) coding { return coding{} }, xmlCoding}[kind%5]
	return decide(in, o).Name != decide(out, o).Name
}
