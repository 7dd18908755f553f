// Package dashboard serves the live page of crawls: rates, waiting hosts, decisions, and forms for operators.
//
// A Source stands for one crawl: a directory (Directory), or whatever else can answer. One goroutine
// follows each source and keeps what was seen in bounded memory; pages are made of that, and each is made once a second at
// most, however many browsers look. Nothing is ever sent to the dashboard by the crawl: it asks, and it reads the ledger's
// files. So a dashboard that stalls, or a browser that reads nothing, cannot hold up a crawl.
//
// # Who may see it
//
// The guard lets in whoever brings the token: by the address that is printed, which sets a cookie that no other site's
// page can use. It refuses names that are no address of a machine (DNS rebinding), and what another site's page sends
// (CSRF). Everything that was crawled is hostile: pages are html/template, their policy allows no script but the one that
// is embedded here, nothing links to a crawled site, and nothing is loaded from elsewhere.
//
// The package knows no frontier and no ledger's file, and decides nothing about a crawl. An act goes through Source.Do,
// whose words allow politeness to be raised and never lowered.
package dashboard
