package crawltest

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"curtsy/crawler/crawltest/visitor"
)

func references(t *testing.T, u *url.URL, a visitor.Answer) (links, embeds []string) {
	body, err := charset.NewReader(bytes.NewReader([]byte(a.Body)), a.Header.Get("Content-Type"))
	require.NoError(t, err)
	nofollow := strings.Contains(a.Header.Get("X-Robots-Tag"), "nofollow")
	base := u
	z := html.NewTokenizer(body)
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		attr := map[string]string{}
		for _, at := range tok.Attr {
			attr[at.Key] = at.Val
		}
		resolve := func(ref string) string {
			to, err := base.Parse(ref)
			require.NoErrorf(t, err, "%s: link %q", u, ref)
			return to.String()
		}
		switch tok.Data {
		case "base":
			if base, err = u.Parse(attr["href"]); err != nil {
				t.Fatal(err)
			}
		case "meta":
			nofollow = nofollow || attr["name"] == "robots" && strings.Contains(attr["content"], "nofollow")
		case "a":
			if href, ok := attr["href"]; ok && attr["rel"] != "nofollow" {
				links = append(links, resolve(href))
			}
		case "link":
			if href, ok := attr["href"]; ok {
				embeds = append(embeds, resolve(href))
			}
		case "img", "script":
			if src, ok := attr["src"]; ok {
				embeds = append(embeds, resolve(src))
			}
			for one := range strings.SplitSeq(attr["srcset"], ",") {
				if fields := strings.Fields(one); len(fields) > 0 {
					embeds = append(embeds, resolve(fields[0]))
				}
			}
		}
	}
	if nofollow {
		links = nil
	}
	return links, embeds
}
