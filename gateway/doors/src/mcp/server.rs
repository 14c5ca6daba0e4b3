//! The protocol's requests.

use http::request::Parts;
use muninn_core::{ToolReply, ToolRequest, ToolRequestKind};
use muninn_session::kept_session;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::source::Source;
use super::{Offer, call, prompts, resources, skills};

/// The name of every client of the older revisions over HTTP: the SDK makes it up.
const MADE_UP_CLIENT: &str = "rmcp";

/// The milliseconds for which a list that depends on the configuration alone is fresh.
const FRESH_MS: u64 = 300_000;

/// Serves the requests of one connection; cheap to clone.
#[derive(Clone)]
pub(super) struct McpServer {
    offer: Offer,
    source: Source,
}

impl McpServer {
    pub(super) fn new(offer: Offer, source: Source) -> McpServer {
        McpServer { offer, source }
    }

    /// Answers a call. Its worktree is the one that `root` names, else the server's.
    async fn answer(
        &self,
        root: Option<String>,
        kind: ToolRequestKind,
        context: &RequestContext<RoleServer>,
    ) -> ToolReply {
        let request = ToolRequest { root, client: client_of(context), session: self.session_id(context), kind };
        self.source.answer(request, context.extensions.get::<Parts>()).await
    }

    /// The session that the client names with the call, else the one of its process.
    fn session_id(&self, context: &RequestContext<RoleServer>) -> Option<String> {
        let named = ["sessionId", "muninn/session"].iter().find_map(|key| {
            let id = context.meta.0.0.get(*key).and_then(Value::as_str)?;
            kept_session(id.to_owned())
        });
        named.or_else(|| self.source.session().map(str::to_owned))
    }
}

/// The client's name: from the request, or over HTTP from its `User-Agent`.
fn client_of(context: &RequestContext<RoleServer>) -> String {
    let named = context.client_info().map(|client| client.name);
    let agent = || {
        let parts = context.extensions.get::<Parts>()?;
        let agent = parts.headers.get(http::header::USER_AGENT)?.to_str().ok()?;
        Some(agent.split_whitespace().next()?.to_owned())
    };
    let name = named.filter(|name| name != MADE_UP_CLIENT).or_else(agent).unwrap_or_default();
    name.chars().take(60).collect()
}

/// Takes the repository out of a call's arguments.
fn take_root(arguments: &mut JsonObject) -> Option<String> {
    match arguments.remove("root") {
        Some(Value::String(root)) => Some(root).filter(|root| !root.trim().is_empty()),
        _ => None,
    }
}

fn refused(reply: ToolReply) -> ErrorData {
    let reason = match reply {
        ToolReply::Refused(reason) => reason,
        _ => "the call failed inside Muninn".to_owned(),
    };
    ErrorData::new(ErrorCode::INTERNAL_ERROR, reason, None)
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        self.offer.config()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ListToolsResult::with_all_items(self.offer.definitions());
        Ok(tools.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.offer.get(name).map(|(_, definition)| definition.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some((tool, _)) = self.offer.get(&request.name) else {
            let reason = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(reason, None));
        };
        let mut arguments = request.arguments.unwrap_or_default();
        let root = take_root(&mut arguments);
        let name = tool.name().to_owned();
        let reply = self.answer(root, ToolRequestKind::Run { name, arguments }, &context);
        Ok(call::wait(tool.name(), reply, &context).await.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match self.answer(None, ToolRequestKind::ListResources, &context).await {
            ToolReply::Resources(pages) => {
                let resources = resources::list(pages).into_iter().chain(skills::resources(&self.offer));
                Ok(ListResourcesResult::with_all_items(resources.collect()))
            }
            other => Err(refused(other)),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(contents) = skills::contents(&self.offer, &request.uri) {
            return Ok(ReadResourceResult::new(vec![contents]).into());
        }
        let address = request.uri.clone();
        match self.answer(None, ToolRequestKind::ReadResource { address }, &context).await {
            ToolReply::Resource(found) => {
                let contents = resources::contents(&request.uri, found)?;
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            other => Err(refused(other)),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = ListPromptsResult::with_all_items(prompts::list());
        Ok(prompts.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_skills(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let skills = ListSkillsResult::with_all_items(skills::list(&self.offer));
        Ok(skills.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let skill = GetSkillResult::new(skills::get(&self.offer, &request.uri)?);
        Ok(skill.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&request.name, request.arguments.as_ref())?.into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    #[expect(deprecated, reason = "clients of older revisions set a level; there is nothing to set")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    /// Answers requests that the SDK does not recognise: unknown methods, and known ones with parameters of wrong types.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        const KNOWN: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];
        let method = &request.method;
        Err(if KNOWN.contains(&method.as_str()) {
            ErrorData::invalid_params(format!("the parameters of `{method}` have wrong types"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
        })
    }
}
