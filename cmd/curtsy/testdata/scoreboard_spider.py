"""Follows every link from the seed, with Scrapy's own link extractor. Run by: scrapy runspider FILE -a seed=URL"""

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Scoreboard(CrawlSpider):
    name = "scoreboard"
    allowed_domains = ["127.0.0.1"]
    rules = (Rule(LinkExtractor(), callback="page", follow=True),)

    def __init__(self, seed, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [seed]

    def page(self, response):
        return None
