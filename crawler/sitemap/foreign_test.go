package sitemap

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func TestNoAddressIsMadeUp(t *testing.T) {
	at, err := canon.Parse("https://bakery.test/dir/sitemap.xml")
	require.NoError(t, err)
	for loc, want := range map[string]string{
		"\u00A0https://bakery.test/a\u00A0":       "https://bakery.test/a",
		"\u3000\n https://bakery.test/a \u2003":   "https://bakery.test/a",
		"\u200Bhttps://bakery.test/a\uFEFF":       "https://bakery.test/a",
		"&nbsp;https://bakery.test/a&nbsp;":       "https://bakery.test/a",
		"&#160;https://bakery.test/a&#xA0;":       "https://bakery.test/a",
		"https://bakery.test/caf&eacute;":         "https://bakery.test/caf%C3%A9",
		"https://bakery.test/&bread;":             "",
		"&bread;https://bakery.test/":             "",
		"https://bakery.test/?a=1&lang=2":         "https://bakery.test/?a=1&lang=2", // which begins no entity
		"https://bakery.test/?a=1&amp;b=2;c":      "https://bakery.test/?a=1&b=2;c",
		"<![CDATA[\u00A0https://bakery.test/a]]>": "https://bakery.test/a",
	} {
		for _, file := range []string{
			"<urlset><url><loc>" + loc + "</loc></url></urlset>", "<rss><channel><item><link>" + loc + "</link></item></channel></rss>",
			"<rss><channel><item><guid>" + loc + "</guid></item></channel></rss>",
		} {
			got := ""
			_, err := Read(Input{URL: at, Body: strings.NewReader(file)}, func(e Entry) error {
				got += e.URL.String()
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, want, got, file)
		}
	}
}

// RFC 822 5.1: the day of the week and the seconds are optional; years have two digits, or four (RFC 2822).
func TestDatesOfFeeds(t *testing.T) {
	want := time.Date(2003, 6, 3, 9, 39, 0, 0, time.UTC)
	for _, day := range []string{"", "Tue, "} {
		for _, year := range []string{"2003", "03"} {
			for _, seconds := range []string{"", ":00"} {
				for _, zone := range []string{"GMT", "+0000"} {
					s := day + "3 Jun " + year + " 09:39" + seconds + " " + zone
					assert.True(t, dateOf(s).Equal(want))
				}
			}
		}
	}
}
