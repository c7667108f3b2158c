from __future__ import annotations

import pytest

from conversations.errors import CorpusError
from tests.conversations.exports import imported, turns_of

TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><particDesc><listPerson>
<person xml:id="ANA"><persName>Ana Ruiz</persName></person><person xml:id="BO" sex="M"/>
</listPerson></particDesc></teiHeader>
<text><body>
  <u who="#ANA" xml:id="u1"><seg>Hello <pause dur="PT1S"/> there</seg></u>
  <u who="#BO" xml:id="u2">Hi <vocal><desc>laughs</desc></vocal> Ana</u>
</body></text></TEI>"""
PLAY = """<TEI><text><body>
<sp who="#a"><speaker>HAM.</speaker><l>To be</l><l>or not</l></sp>
<sp who="#b"><speaker>OPH.</speaker><stage>enters</stage><p>My lord</p></sp></body></text></TEI>"""
TRANSCRIBER = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE Trans SYSTEM "trans-14.dtd">
<Trans><Speakers><Speaker id="spk1" name="Ana"/><Speaker id="spk2" name="Bo"/></Speakers><Episode>
<Turn speaker="spk1" startTime="0"><Sync time="0"/>
hello
<Sync time="1"/>
there
</Turn><Turn speaker="spk2" startTime="2"><Sync time="2"/>hi</Turn></Episode></Trans>"""
ADIUM = """<chat account="ana@x.example"><event type="windowOpened" sender="ana@x.example"/>
<message sender="bo@x.example" time="2024-03-05T10:00:10+01:00"><div><span style="x">Is it open?</span></div></message>
<message sender="ana@x.example" time="2024-03-05T10:01:10+01:00"><div>Until<br/>six</div></message></chat>"""
MSN = """<?xml version="1.0"?><Log><Message SessionID="7"><From><User FriendlyName="Ana"/></From><Text Style="x">hello
</Text></Message><Message SessionID="7"><From><User Name="Bo"/></From><Text Style="x">hi</Text></Message></Log>"""

CHILDES = """<CHAT><Participants><participant id="MOT" name="Ana"/><participant id="CHI" name="Bo"/></Participants>
<u who="MOT" uID="u0"><w>what</w><w>is</w></u><u who="CHI" uID="u1"><w>ball</w></u></CHAT>"""


@pytest.mark.parametrize(
    ("name", "content", "turns"),
    [
        ("talk.xml", TEI, ["Ana Ruiz: Hello there", "BO: Hi Ana"]),
        ("play.xml", PLAY, ["HAM.: To be\nor not", "OPH.: My lord"]),
        ("talk.trs", TRANSCRIBER, ["Ana: hello there", "Bo: hi"]),
        ("chat.chatlog", ADIUM, ["bo@x.example: Is it open?", "ana@x.example: Until\nsix"]),
        ("log.txt", MSN, ["Ana: hello", "Bo: hi"]),
        ("talk.xml", CHILDES, ["Ana: what is", "Bo: ball"]),
    ],
)
def test_elements_with_a_speaker_and_a_text_are_turns(tmp_path, name, content, turns):
    assert list(turns_of(imported(tmp_path, name, content)).values()) == [turns]


def test_conversations_are_told_by_their_ids_or_counted(tmp_path):
    turn = "<message><from>{}</from><body>Is it &lt;so&gt;?</body></message>"
    both = turn.format("Ana") + turn.format("Bo")
    named = f'<all><conversation id="c1">{both}</conversation><conversation id="c2">{both}</conversation></all>'
    said = ["Ana: Is it <so>?", "Bo: Is it <so>?"]
    assert turns_of(imported(tmp_path, "a.xml", named)) == {"c1": said, "c2": said}
    counted = f"<all><dialog>{both}</dialog><dialog>{both}</dialog></all>"
    assert turns_of(imported(tmp_path, "b.xml", counted)) == {"1": said, "2": said}
    talk = '<TEI xml:id="{}"><text><u who="#A">Hello</u><u who="#B">Hi</u></text></TEI>'
    corpus = f"<teiCorpus>{talk.format('t1')}{talk.format('t2')}</teiCorpus>"
    assert turns_of(imported(tmp_path, "c.xml", corpus)) == {name: ["A: Hello", "B: Hi"] for name in ("t1", "t2")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<!DOCTYPE m [<!ENTITY a "b">]><m><u who="x">&a;</u></m>', "declares entities"),
        ("<rss><item><title>A</title></item></rss>", "XML with <rss>, <item>, <title>, in which no element has"),
        ("<html><body><p>hello</p></body></html>", "is a web page"),
        ('<m>\n<u who="a">x</u>\n<u', "not valid XML .*line 3"),
    ],
)
def test_xml_without_turns_or_with_entities_is_refused(tmp_path, content, message):
    with pytest.raises(CorpusError, match=message):
        imported(tmp_path, "a.xml", f"<?xml version='1.0'?>{content}")
