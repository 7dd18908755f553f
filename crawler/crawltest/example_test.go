package crawltest_test

import (
	"context"
	"fmt"
	"net/http"

	"curtsy/crawler/crawltest"
)

func Example() {
	web := crawltest.New(&crawltest.Site{
		Name:   "bakery.test",
		Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /kitchen\n"},
		Pages:  map[string]crawltest.Page{"/": {Links: []string{"/bread", "/kitchen"}}, "/bread": {}, "/kitchen": {}},
	})
	if err := web.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer web.Close()

	client := &http.Client{Transport: &http.Transport{DialContext: web.Dial}}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://bakery.test/", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("User-Agent", "curtsy/1.0")
	response, err := client.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()

	report := web.Referee().Judge(crawltest.Rules{Token: "curtsy"})
	for _, rule := range []crawltest.Rule{crawltest.RobotsFirst, crawltest.Identity, crawltest.Coverage} {
		fmt.Printf("%s: %s\n", rule, report.Row(rule).Verdict)
	}
	for _, missing := range report.Row(crawltest.Coverage).Findings {
		fmt.Println(missing)
	}
	// Output:
	// robots.txt first: BROKEN
	// identity: kept
	// coverage: BROKEN
	// bakery.test/bread: never fetched; linked from http://bakery.test/
}
