from urllib.parse import urlsplit

import scrapy


class Bench(scrapy.Spider):
    """Follows all links of the hosts that it begins at, and keeps nothing."""

    name = "bench"
    custom_settings = {"ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "MEMUSAGE_ENABLED": False}

    def __init__(self, seeds, **kwargs):
        super().__init__(**kwargs)
        with open(seeds) as f:
            self.start_urls = f.read().split()
        self.hosts = {urlsplit(u).netloc for u in self.start_urls}

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            u = response.urljoin(link)
            if urlsplit(u).netloc in self.hosts:
                yield scrapy.Request(u)
