package extract

import (
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
)

func naiveMentions(doc *goquery.Document, self bool) (ms []Link, refs []string) {
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		if s.ParentsFiltered("template:not([shadowrootmode])").Length() > 0 {
			return
		}
		name := goquery.NodeName(s)
		rel, _ := s.Attr("rel")
		for _, a := range s.Nodes[0].Attr {
			embed, values := false, []string{a.Val}
			switch name + " " + a.Key {
			case "a href", "area href":
			case "link href":
				if markup.LinkRole(rel) == markup.Service {
					continue
				}
				embed = markup.LinkRole(rel).Requisite()
			case "img srcset", "source srcset":
				embed, values = true, candidates(a.Val)
			case "img src", "source src", "video src", "video poster", "audio src", "track src", "iframe src", "frame src", "script src", "embed src", "object data":
				embed = true
			default:
				continue
			}
			for _, v := range values {
				v = strings.Trim(v, " \t\r\n\f")
				if (self || embed) && (v == "" || strings.HasPrefix(v, "#")) {
					continue
				}
				ms, refs = append(ms, Link{Embed: embed, Element: name, Attr: a.Key}), append(refs, v)
			}
		}
	})
	return ms, refs
}

// The walk lists the links that selectors find in the whole tree. FuzzPrune_EqualsTheWholeTree covers pruning.
func FuzzHTML_EqualsTheNaive(f *testing.F) {
	for _, seed := range []string{
		`<base href=/b/><a href=x rel=nofollow><a href=./x><img src=x srcset="x 1x, y 2x"><a href=#><link rel=icon href=mailto:x>`,
		`<video src=a poster=a><source src=b></video><template><a href=x></template><noscript><a href=y></noscript>`,
		`<table><a href=x><tr><u href=y>`, `<table><a href=V><tr><u h<a hrefMref=y=x>`,
		`<table><a href=x><tr><a href=y></table><frameset><frame src=a></frameset><iframe src="  a "></iframe><a href="http://">`,
		`<template><template shadowrootmode=open><a href=x></template></template><object data=%41><a href=A>`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		page := unpruned(t, body)
		low := strings.ToLower(body)
		if strings.Contains(low, "svg") || strings.Contains(low, "math") || strings.Contains(low, "http-equiv") || strings.Contains(low, "background") ||
			strings.Contains(low, "input") || strings.Contains(low, "style") || strings.Contains(low, "data-") || strings.Contains(low, "srcdoc") || strings.Contains(low, "lowsrc") || strings.Contains(low, "dynsrc") ||
			strings.Contains(low, "applet") || strings.Contains(body, mark) || strings.Contains(low, "bgsound") || strings.Contains(low, "imagesrcset") || strings.HasPrefix(body, "\xEF\xBB\xBF") || strings.HasPrefix(body, "\xFE\xFF") || strings.HasPrefix(body, "\xFF\xFE") {
			return
		}
		root, err := html.ParseWithOptions(strings.NewReader(body), html.ParseOptionEnableScripting(false))
		if err != nil {
			if page.Unparsed == "" || mentions(page) != 0 {
				t.Fatalf("%v: %q, %d mentions", err, page.Unparsed, mentions(page))
			}
			return
		}
		doc := goquery.NewDocumentFromNode(root)
		ms, refs := naiveMentions(doc, page.Base == parse(t, pageURL))
		again := doc.Find("a").Length() > 1 // one may be re-opened by the parser, which is the same mention
		if mentions(page) != len(ms) && (!again || mentions(page) > len(ms)) {
			t.Fatalf("%d links + %d repeats + %d dropped + %v refused; want %d mentions", len(page.Links), page.Repeats, page.Dropped, page.Refused, len(ms))
		}
		var want []Link
		refused := map[canon.Reason]int{}
		for i, m := range ms {
			u, err := page.Base.Resolve(refs[i])
			if err != nil {
				refused[canon.ReasonOf(err)]++
				continue
			}
			m.URL = u
			if !slices.ContainsFunc(want, func(l Link) bool { return l.URL.Key() == u.Key() && l.Embed == m.Embed }) {
				want = append(want, m)
			}
		}
		for reason, n := range refused {
			if page.Refused[reason] != n && !again {
				t.Fatalf("%d refused as %s; want %d", page.Refused[reason], reason, n)
			}
		}
		same := func(a, b Link) bool {
			return a.URL == b.URL && a.Embed == b.Embed && a.Element == b.Element && a.Attr == b.Attr
		}
		require.True(t, slices.EqualFunc(page.Links, want, same))
	})
}

func candidates(srcset string) (all []string) {
	markup.Candidates(srcset, func(start, end int) { all = append(all, srcset[start:end]) })
	return all
}

// FuzzSrcset_NeverInventsOctets: each URL is a piece of the attribute without white space, in order.
func FuzzSrcset_NeverInventsOctets(f *testing.F) {
	f.Add("a 1x, b,c (x,y) 2x,d")
	f.Fuzz(func(t *testing.T, s string) {
		rest := s
		for _, ref := range candidates(s) {
			_, after, found := strings.Cut(rest, ref)
			if ref == "" || !found || strings.ContainsAny(ref, markup.Space) || strings.HasPrefix(ref, ",") || strings.HasSuffix(ref, ",") {
				t.Fatalf("%q of %q", ref, s)
			}
			rest = after
		}
	})
}
