//! Word lists of English and of developers' prose. General words only, no project names.

/// Negations. Contractions of `not` count too.
pub(super) const NEGATORS: &str = "not no never nobody none nothing neither nor without cannot nowhere lack avoid";

/// Function words, which are ignored.
pub(super) const FUNCTION: &str = "a an the this that these those there which who whom whose it its itself he she they \
    them their his her we our you your i my us one is are was were be been being am do does did has have had having \
    and or as so if then than when while where of to s also just now already currently please simply really quite \
    very get gets got getting will would shall both same such own each every all some any";

/// Prepositions, which mark the start of a phrase.
pub(super) const PREPOSITIONS: &str = "in on at of for to from by with via through into onto as under over near inside within outside using across towards off out";

/// Weak words. A weak word can be missing in one text without a difference in meaning.
pub(super) const WEAK: &str = "about roughly approximately around up out away must should need can could may might \
    shall keep have someone somebody something body together other another someone group small large big little \
 several still use used uses using";

/// Auxiliaries. The predicate begins at the first.
pub(super) const AUXILIARIES: &str = "is are was were be has have had does do did can could must should will would \
    may might isn't aren't wasn't weren't doesn't don't didn't can't cannot won't shouldn't mustn't hasn't haven't";

/// Words of conditions. A statement with a condition can be false where the condition does not hold.
pub(super) const CONDITIONS: &str = "if unless except only until when while but although instead";

/// Verbs that mark the predicate of a statement without an auxiliary.
pub(super) const VERBS: &str = "accept acknowledge add allocate allow apply ask avoid begin belong break build cache \
    call cause check close come commit communicate compare compile connect contain crash create cut default delete depend \
    deploy deprecate drop emit end enforce exist exit expect expire expose fail fetch fit fix follow format forward \
    generate give grow handle happen hash hold host ignore import include install invalidate keep lack leave listen \
    live load lock log maintain make merge migrate mutate need open own overwrite panic parse pass pin point poll \
    prefer print process produce publish push put read rebase rebuild receive reference refuse reject release rely \
    remove replace report request require reset resolve respond retry return review rotate run scan send serve set \
    share skip sort split start stay stop store stream strip support swallow take talk terminate throw time touch \
    treat trigger truncate update use validate verify wait want warm wear work wrap write";

/// Irregular forms, each followed by its base form. Agent nouns are listed as their own base.
pub(super) const IRREGULAR: &str = "rode ride ridden ride sang sing sung sing drank drink drunk drink ate eat eaten eat \
    wrote write written write drove drive driven drive ran run threw throw thrown throw took take taken take gave give \
    given give broke break broken break chose choose chosen choose spoke speak spoken speak wore wear worn wear \
    tore tear torn tear did do done do went go gone go saw see seen see fell fall fallen fall flew fly flown fly \
    grew grow grown grow knew know known know drew draw drawn draw held hold kept keep left leave lost lose made make \
    sent send spent spend built build bought buy brought bring caught catch taught teach thought think found find \
    fed feed led lead met meet read read paid pay said say sold sell told tell stood stand swam swim swum swim began \
    begin begun begin shook shake shaken shake hid hide hidden hide bit bite bitten bite froze freeze frozen freeze \
    understood understand got get forgot forget forgotten forget stuck stick struck strike hung hang dug dig slept \
    sleep swept sweep lain lie lying lie laid lay shot shoot sat sit won win men man women woman children child people \
    person feet foot teeth tooth mice mouse indices index matrices matrix vertices vertex knives knife lives live \
    leaves leaf wolves wolf halves half running run sitting sit cutting cut putting put swimming swim biggest big \
    parser parser tokenizer tokenizer scheduler scheduler importer importer exporter exporter compiler compiler linker \
    linker reader reader writer writer loader loader builder builder handler handler worker worker server server \
    formatter formatter listener listener generator generator printer printer sender sender";

/// Phrases and their one-word synonyms.
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("turned off", "disabled"),
    ("turn off", "disable"),
    ("turns off", "disables"),
    ("switched off", "disabled"),
    ("switch off", "disable"),
    ("turned on", "enabled"),
    ("turn on", "enable"),
    ("turns on", "enables"),
    ("switched on", "enabled"),
    ("switch on", "enable"),
    ("no longer", "not"),
    ("no one", "nobody"),
    ("rather than", "instead"),
    ("instead of", "instead"),
    ("has to", "must"),
    ("have to", "must"),
    ("had to", "must"),
    ("need to", "must"),
    ("needs to", "must"),
    ("far from", "far"),
    ("close to", "near"),
    ("next to", "near"),
    ("in front of", "before"),
    ("because of", "because"),
    ("due to", "because"),
    ("by hand", "manually"),
    ("at least", "minimum"),
    ("at most", "maximum"),
    ("more than", "over"),
    ("less than", "below"),
    ("out of", "out"),
    ("far to", "far"),
    ("a lot of", "many"),
    ("talking to", "talk"),
    ("talks to", "talk"),
];

/// Each line is a set of synonyms.
pub(super) const SYNONYMS: &str = "\
    use utilize employ|locate live reside|talk communicate|folder directory|repo repository|function fn|argument arg \
    parameter param|configuration config setting|delete erase|begin start|end finish stop|big large huge enormous|small little tiny|\
    automatic automatically|manual manually|must require need|fail break|error failure|fetch retrieve|forbid disallow \
    prohibit|allow permit|every each all|quick quickly fast rapid rapidly|slow slowly|create generate|database db|\
    application app|environment env|production prod|development dev|documentation docs doc|authentication auth|\
    approximate approximately about roughly around|build compile|via through using|synchronous sync sequential \
    sequentially serially|asynchronous async|concurrent concurrently parallel|minimum min|maximum max|second sec|\
    millisecond ms|minute min|hour hr|kilobyte kb|megabyte mb|gigabyte gb|dependency dep|identifier id|message msg|\
    nightly night|daily day|weekly week|monthly month|hourly hour|get receive obtain|modify change edit|commit \
    committed|purge clear|emit output print|verify check validate|shared share|\
    couch sofa|kid child|bike bicycle|motorbike motorcycle|photo photograph picture image|guy man|lady woman|sea ocean|\
    gun firearm|woods forest|rock boulder stone|street road|auto car automobile|shop store|glad happy cheerful joyful|\
    cheerfully happily joyfully|jump leap|speak talk|shout yell|cut chop slice|stare look gaze watch|rest lie|sprint \
    run|near beside|infant baby|puppy pup|kitten kitty|biker cyclist bicyclist|plane airplane aircraft|\
    television tv|phone telephone|hill hillside|yard backyard|outdoors outside|indoors inside|throw toss|spectacles \
    glasses|trousers pants|hike trek|climb scale|fry sear|meat flesh|mix stir blend|slope hill|carry hold|footpath \
    path trail|teenager teen adolescent|\
    stroll walk|pace walk|beach shore seashore seaside coast|lawn grass|cord rope|dish bowl|draw sketch|dive plunge|\
    sunglasses shades|rabbit bunny|sleep nap doze|hurry rush|answer reply respond|ask inquire|smile grin|weep cry|pot pan \
    skillet|container vessel|wear dress|costume outfit|bottle flask|sofa settee|cap hat|ship boat vessel|rug carpet|trash \
    garbage rubbish|soccer football|movie film|song tune|dark dim|area region|wall barrier|\
    doctor physician|cop policeman officer|soldier trooper|infant toddler|mother mom|father dad|\
    animated cartoon|gnaw chew bite|crack break|lead escort|hug embrace|ride drive|pet stroke|wash rinse|\
    clean wipe|lift raise|shine glow|spin rotate twirl|slide glide|tie bind|wait await|wave waving|\
    launch spawn boot start|halt terminate stop|abort crash|show display|choose select pick|save persist store|secret \
    credential|bug defect|cap limit|endpoint route|callback hook|task job|reload refresh|rebuild regenerate|ship deploy|\
    drop discard|rename retitle|postpone defer delay|enlarge extend|shorten reduce|permission right|stub mock|\
    vulnerable insecure|deprecated obsolete|legacy old|new recent|latest newest|entire whole complete|incorrect wrong|\
    correct right|empty blank|simple easy|difficult hard|necessary required mandatory|unnecessary optional|\
    identical same|separate distinct|log logging|trace tracing|cost price|customer client|vendor supplier|own possess";

/// The first word of a line is narrower than each other word.
pub(super) const NARROWER: &str = "\
    man person somebody someone human|woman person somebody someone human|boy child kid person|girl child kid person|\
    child person|teenager person|dog animal|cat animal|horse animal|puppy dog animal|kitten cat animal|cow animal|\
    monkey animal|bird animal|panda animal bear|lion animal|hamster animal|elephant animal|guitar instrument|piano \
    instrument|flute instrument|drum instrument|violin instrument|car vehicle|truck vehicle|bus vehicle|motorcycle \
    vehicle bike|onion vegetable food|potato vegetable food|carrot vegetable food|tomato vegetable food|garlic \
    vegetable food|cucumber vegetable food|meat food|fish food animal|bread food|egg food|shrimp food|beef meat food|\
    chicken food|rice food|pasta food|walk move|run move|jump move|fry cook|bake cook|grill cook|boil cook|soccer \
    football sport|tennis sport|rugby sport|dirt ground|lake water|river water|ocean water|pool water|pond water|\
    rider person|player person|biker person|surfer person|skater person|climber person|couple people|adult person|\
    friend person|two several some|three several some|four several some|five several some";

/// The words of a line exclude each other.
pub(super) const EXCLUSIVE: &str = "\
    enable disable|on off|sync async|synchronous asynchronous|before after|always never sometimes|require optional|\
    must optional|require allow|allow deny forbid refuse|accept reject refuse|public private internal|include exclude|\
    start stop end|open close|sit stand run walk lie jump|sequential parallel|serial concurrent|sensitive insensitive|\
    sensitive ignore|first last|true false|yes no|read write|stdout stderr|tab space|utc local|automatic manual|\
    hourly daily weekly monthly yearly|millisecond second minute hour day week month year|kb mb gb tb|bytes kilobytes \
    megabytes gigabytes|monday tuesday wednesday thursday friday saturday sunday|january february march april may june \
    july august september october november december|fast slow|faster slower|increase decrease reduce|grow shrink|add \
    remove|create delete|keep delete drop overwrite discard|preserve overwrite|remove exist|lock unlock|encrypt plain|\
    ascending descending|asc desc|plural singular|upper lower|uppercase lowercase|minimum maximum|mutable immutable|\
    stateful stateless|static dynamic|lazy eager|lazily eagerly|local remote global|temporary permanent|safe unsafe|\
    blocking nonblocking|strict lenient|deprecated recommended|prefer avoid|use avoid|succeed fail|pass fail|success \
    failure|valid invalid|present absent missing|with without|empty full|inside outside|indoors outdoors|up down|left \
    right|near far|above below|top bottom|front back|in out|into out|onto off|to from|over under|on under|hot cold|wet dry|light heavy|loud quiet|loudly quietly|\
    dark bright|big small|tall short|long short|old young|high low|deep shallow|wide narrow|early late|\
    happy sad|clean dirty|asleep awake|sleep run|calm excited|calmly wildly|slowly quickly|rise fall|arrive leave|\
    enter exit leave|push pull|lift drop lower|throw catch|buy sell|win lose|float sink|attach detach|fill \
    empty|pour drain|dress undress|load unload|cover uncover|put remove|mount dismount|lead follow|laugh cry|love hate|\
    rich poor|strong weak|hard soft|thick thin|rough smooth|sharp blunt|alone together|once twice|none all|nobody \
    everybody|forward backward|ahead behind|primary replica|any only|all only|debug info warn error trace|once every|\
    follow ignore|approve reject|owned shared|centralised distributed";

/// Attributes that have a value: `the default port is`.
pub(super) const ATTRIBUTES: &str = "default version port limit size timeout name type format language level mode \
    maximum minimum max min number count length width depth interval period rate ratio path location branch url host \
    address owner maintainer license encoding charset protocol indentation budget quota \
    threshold seed schedule delay ttl retention";

/// Verbs with a single value after a preposition: `is written in`, `comes from`, `is owned by`.
pub(super) const FUNCTIONAL: &str = "own maintain write store build base locate live default set name come expire start \
    end begin listen exit host deploy release wrap schedule format hash sort compile serve encode generate happen run";

/// Verbs with a single object.
pub(super) const GIVING: &str = "return equal mean default call";

/// Verbs with a single subject.
pub(super) const OWNING: &str = "own maintain";

/// Words that can change the meaning if only one side has them.
pub(super) const SHIFTING: &str = "off out far away down few less rarely seldom hardly barely almost nearly fake former \
    formerly previously false wrong stop cease miss refuse prevent skip ignore fail leave remove break old obsolete \
    legacy deprecated planned proposed supposed intended plan try partly partially sometimes mostly";
