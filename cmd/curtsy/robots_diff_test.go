package main

import (
	"testing"

	"curtsy/cmd/curtsy/cli"
)

func TestRobotsDiff(t *testing.T) {
	t.Parallel()
	older := robotsFile(t, ""+
		"user-agent: *\ndisallow: /a\ndisallow: /b\ncrawl-delay: 2\n\n"+
		"user-agent: gone\ndisallow: /\n\n"+
		"user-agent: same\ndisallow: /x\ndisallow: /y\n\n"+
		"sitemap: https://bakery.test/1.xml\n")
	newer := robotsFile(t, "# rewritten\n"+
		"User-Agent: Same\nDisallow: /y # why\nDisallow: /%78\n\n"+
		"user-agent: new/1.0\nallow: /a\ndisallow: /b\n\n"+
		"user-agent: *\ndisallow: /a\ndisallow: /c\n"+
		"sitemap: https://bakery.test/2.xml\n")
	r := inside(t, "robots", "diff", older, newer, "https://bakery.test/a", "https://bakery.test/c")
	r.want(t, cli.ExitFound)
	r.prints(t, ""+
		"*\n"+
		"  - disallow: /b\n"+
		"  - crawl-delay: 2\n"+
		"  + disallow: /c\n"+
		"  https://bakery.test/c: allowed, now disallowed (line 12: disallow: /c)\n"+
		"gone (named no more; bound by * now)\n"+
		"  - disallow: /\n"+
		"  - crawl-delay: 2\n"+
		"  + disallow: /a\n"+
		"  + disallow: /c\n"+
		"new (named now; bound by * before)\n"+
		"  - disallow: /a\n"+
		"  - crawl-delay: 2\n"+
		"  + allow: /a\n"+
		"  https://bakery.test/a: disallowed, now allowed (line 7: allow: /a)\n"+
		"same\n"+
		"  - crawl-delay: 2\n"+
		"sitemaps\n"+
		"  - https://bakery.test/1.xml\n"+
		"  + https://bakery.test/2.xml\n")
}

func TestRobotsDiffOfFilesThatSayTheSame(t *testing.T) {
	t.Parallel()
	one := robotsFile(t, "user-agent: a\nuser-agent: b\ndisallow: /x\ndisallow: /~y\ncrawl-delay: 60\n")
	other := "\ufeffUSER-AGENT: B\r\nCrawl-delay: 1m\r\nDISALLOW: /%7ey\r\nDisallow: /x\r\nDisallow: /x\r\n\r\nUser-agent: a\r\ndisallow: /~y\r\ndisallow: /x\r\ncrawl-delay: 60.0\r\n"
	r := fed(t, other, "robots", "diff", one, "-", "https://bakery.test/x")
	r.want(t, cli.ExitDone)
	r.prints(t, "")
}

// Only in the 1996 draft does the order of rules tell.
func TestRobotsDiffByTheOldStandards(t *testing.T) {
	t.Parallel()
	older := robotsFile(t, "user-agent: *\nallow: /a/b\ndisallow: /a\n")
	newer := "user-agent: *\ndisallow: /a\nallow: /a/b\n"
	fed(t, newer, "robots", "diff", older, "-", "http://bakery.test/a/b").want(t, cli.ExitDone)
	fed(t, newer, "robots", "diff", "--robots-standard", "std1994", older, "-").want(t, cli.ExitDone)
	r := fed(t, newer, "robots", "diff", "--robots-standard", "draft1996", older, "-", "http://bakery.test/a/b")
	r.want(t, cli.ExitFound)
	r.prints(t, "*\n  the same rules in another order\n  http://bakery.test/a/b: allowed, now disallowed (line 2: disallow: /a)\n")
}
